// Times, durations and dates of std::chrono as fields, keys, optionals and results, and their functions in traced lambdas.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include <query/times.hpp>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

using namespace std::chrono;
using milli_time = sys_time<milliseconds>;

struct event {
  sys_seconds at;
  sys_days day;
  milliseconds took;
  year_month_day date;
  std::optional<milli_time> seen;
  std::int32_t id;
};
QUERY_RECORD(event, at, day, took, date, seen, id);

struct found {
  milli_time at;
  year_month_day date;
  std::optional<sys_days> day;
};
QUERY_RECORD(found, at, date, day);

// Leap days, the turn of 1970, and the ends of what the types hold; many rows, so that every way of a verb is taken.
std::vector<event> some_events(std::size_t n) {
  std::vector<event> all;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<std::int64_t>((i + 1) * 0x9E3779B97F4A7C15ull >> 20);
    const sys_seconds at(seconds(x % 4'000'000'000 - 2'000'000'000));
    const sys_days day = i % 7 == 0 ? sys_days(2024y / 2 / 29) : i % 7 == 1 ? sys_days(days(-1)) : sys_days(days(x % 300 - 150));
    const std::optional<milli_time> seen = i % 3 == 0 ? std::nullopt : std::optional(milli_time(at) + milliseconds(x % 5 - 2));
    all.push_back({at, day, milliseconds(x % 5'000 - 2'500), year_month_day(day), seen, static_cast<std::int32_t>(i)});
  }
  if (n < 8) return all;
  all[3].at = sys_seconds::max();
  all[4].at = sys_seconds::min();
  all[5].at = sys_seconds(seconds(0));
  all[3].took = milliseconds::max();
  all[4].took = milliseconds::min();
  all[6].date = year_month_day(year::max(), December, day(31));
  all[7].date = year_month_day(year::min(), January, day(1));
  return all;
}
const std::vector<std::size_t> sizes{0, 1, 9, 20'000};

template <class F> auto mapped(const std::vector<event>& rows, const F& f) {
  std::vector<decltype(f(rows[0]))> all;
  for (const event& r : rows) all.push_back(f(r));
  return all;
}
template <class F> std::vector<event> kept(const std::vector<event>& rows, const F& f) {
  std::vector<event> all;
  for (const event& r : rows)
    if (f(r)) all.push_back(r);
  return all;
}

CONFORMS(chrono_rows, where_compares_times, "where") {
  const sys_seconds from = sys_days(1969y / 7 / 20);
  const sys_days leap(2024y / 2 / 29);
  for (const std::size_t n : sizes) {
    const auto rows = some_events(n);
    const auto q = source(e, rows);
    EXPECT_ROWS(q.where([from](auto r) { return r.at >= from; }).to_vector(), kept(rows, [&](const event& r) { return r.at >= from; }));
    EXPECT_ROWS(q.where([leap](auto r) { return r.day == leap || r.took < 0s; }).to_vector(),
                kept(rows, [&](const event& r) { return r.day == leap || r.took < 0s; }));
    EXPECT_ROWS(q.where([](auto r) { return r.date > 1969y / 12 / 31 && r.date.year() != 2024y; }).to_vector(),
                kept(rows, [](const event& r) { return r.date > 1969y / 12 / 31 && r.date.year() != 2024y; }));
    EXPECT_ROWS(q.where([](auto r) { return r.seen.has_value() && *r.seen > r.day + 24h; }).to_vector(),
                kept(rows, [](const event& r) { return r.seen.has_value() && *r.seen > r.day + 24h; }));
  }
}

// Without the ends of the types, whose arithmetic overflows.
std::vector<event> inner_events(std::size_t n) {
  auto rows = some_events(n);
  std::erase_if(rows, [](const event& r) { return r.at == sys_seconds::max() || r.at == sys_seconds::min(); });
  return rows;
}

CONFORMS(chrono_rows, select_calculates, "select") {
  for (const std::size_t n : sizes) {
    const auto rows = inner_events(n);
    const auto q = source(e, rows);
    const auto sums = [](auto r) {
      return std::tuple(r.at + r.took, r.at - r.day, r.took * 3, r.took / 7ms, r.took % 1s, -r.took, r.took / 2,
                        r.at.time_since_epoch().count(), r.took.count(), 2h + r.took);
    };
    EXPECT_ROWS(q.select(sums).to_vector(), mapped(rows, sums));
    const auto chosen = [](auto r) {
      return std::tuple(query::max(r.at, sys_seconds{}), query::iff(r.id % 2 == 0, r.took, 5ms), query::duration_cast<seconds>(r.took),
                        query::total<seconds>(r.took));
    };
    EXPECT_ROWS(q.select(chosen).to_vector(), mapped(rows, chosen));
    const auto made = [](auto r) { return query::make<found>(r.at, r.date, r.day); };
    EXPECT_ROWS(q.select(made).to_vector(), mapped(rows, made));
  }
}

CONFORMS(chrono_rows, select_reads_the_calendar, "select") {
  for (const std::size_t n : sizes) {
    const auto rows = inner_events(n);
    const auto q = source(e, rows);
    const auto parts = [](auto r) {
      return std::tuple(query::year_of(r.at), query::month_of(r.at), query::day_of(r.at), query::weekday_of(r.at), query::hour_of(r.at),
                        query::minute_of(r.at), query::second_of(r.at), query::day_of_year_of(r.at), query::year_of(r.date),
                        query::weekday_of(r.date));
    };
    const auto wanted = [](const event& r) {
      const sys_days day = std::chrono::floor<days>(r.at);
      const year_month_day date(day);
      const hh_mm_ss clock(r.at - day);
      return std::tuple(int(date.year()), int(unsigned(date.month())), int(unsigned(date.day())), int(weekday(day).iso_encoding()),
                        int(clock.hours().count()), int(clock.minutes().count()), int(clock.seconds().count()),
                        int((day - sys_days(date.year() / 1 / 1)).count()) + 1, int(r.date.year()),
                        int(weekday(sys_days(r.date)).iso_encoding()));
    };
    EXPECT_ROWS(q.select(parts).to_vector(), mapped(rows, wanted));
    const auto buckets = [](auto r) {
      return std::tuple(query::floor<days>(r.at), query::floor_to(r.at, 15min), query::floor_to(r.at, weeks(1)),
                        query::floor_to(r.at, months(3)), query::floor_to(r.took, 1s), query::date_of<year_month_day>(r.at),
                        query::make_time<sys_days>(r.date), query::add_months(r.at, r.id % 30), query::make_duration<minutes>(r.id),
                        query::make_time<sys_seconds>(2024, r.id % 20, r.id, 5));
    };
    EXPECT_ROWS(q.select(buckets).to_vector(), mapped(rows, buckets));
    EXPECT_EQ(q.where([](auto r) { return query::floor<days>(r.at) == r.at; }).count(),
              static_cast<std::int64_t>(kept(rows, [](const event& r) { return std::chrono::floor<days>(r.at) == r.at; }).size()));
  }
}

template <class K, class F> auto counted(const std::vector<event>& rows, const F& key) {
  std::map<K, std::tuple<std::int64_t, sys_seconds, milliseconds>> groups;
  for (const event& r : rows) {
    const auto [at, fresh] = groups.try_emplace(key(r), 0, r.at, r.took);
    auto& [n, first, longest] = at->second;
    ++n;
    first = std::min(first, r.at);
    longest = std::max(longest, r.took);
  }
  std::vector<std::tuple<K, std::int64_t, sys_seconds, milliseconds>> all;
  for (const auto& [k, g] : groups) all.push_back(std::tuple_cat(std::tuple<K>(k), g));
  return all;
}
const auto summed = [](auto g) {
  return std::tuple(g.key(), g.count(), g.min([](auto r) { return r.at; }), g.max([](auto r) { return r.took; }));
};

CONFORMS(chrono_rows, are_keys_of_groups, "group_by", "group_by.select") {
  for (const std::size_t n : sizes) {
    const auto rows = some_events(n);
    const auto q = source(e, rows);
    EXPECT_SAME_ROWS(q.group_by([](auto r) { return r.day; }).select(summed).to_vector(),
                     counted<sys_days>(rows, [](const event& r) { return r.day; }));
    EXPECT_SAME_ROWS(q.group_by([](auto r) { return r.date; }).select(summed).to_vector(),
                     counted<year_month_day>(rows, [](const event& r) { return r.date; }));
    EXPECT_SAME_ROWS(q.group_by([](auto r) { return std::pair(r.took, r.day); }).select(summed).to_vector(),
                     (counted<std::pair<milliseconds, sys_days>>(rows, [](const event& r) { return std::pair(r.took, r.day); })));
    EXPECT_SAME_ROWS(q.group_by([](auto r) { return r.seen; }).select(summed).to_vector(),
                     counted<std::optional<milli_time>>(rows, [](const event& r) { return r.seen; }));
  }
}

CONFORMS(chrono_rows, are_keys_of_orders, "order_by", "then_by_descending", "top") {
  for (const std::size_t n : sizes) {
    const auto rows = some_events(n);
    const auto q = source(e, rows);
    auto wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const event& a, const event& b) { return a.day != b.day ? a.day < b.day : a.took > b.took; });
    EXPECT_ROWS(q.order_by([](auto r) { return r.day; }).then_by_descending([](auto r) { return r.took; }).to_vector(), wanted);
    wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const event& a, const event& b) { return a.date < b.date; });
    EXPECT_ROWS(q.order_by([](auto r) { return r.date; }).to_vector(), wanted);
    wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const event& a, const event& b) { return a.at > b.at; });
    wanted.resize(std::min<std::size_t>(wanted.size(), 5));
    EXPECT_ROWS(q.top(5, [](auto r) { return r.at; }).to_vector(), wanted);
  }
}

CONFORMS(chrono_rows, are_distinct, "distinct", "except", "intersect") {
  for (const std::size_t n : sizes) {
    const auto rows = some_events(n);
    const auto q = source(e, rows);
    std::set<sys_days> days_of_rows;
    std::set<year_month_day> dates;
    for (const event& r : rows) days_of_rows.insert(r.day), dates.insert(r.date);
    const auto day = [](auto r) { return r.day; };
    EXPECT_SAME_ROWS(q.select(day).distinct().to_vector(), std::vector<sys_days>(days_of_rows.begin(), days_of_rows.end()));
    EXPECT_SAME_ROWS(q.select([](auto r) { return r.date; }).distinct().to_vector(),
                     std::vector<year_month_day>(dates.begin(), dates.end()));
    const std::vector<sys_days> some{sys_days(2024y / 2 / 29), sys_days(days(7))};
    std::vector<sys_days> both, rest;
    for (const sys_days d : days_of_rows) (std::find(some.begin(), some.end(), d) != some.end() ? both : rest).push_back(d);
    EXPECT_SAME_ROWS(q.select(day).intersect(source(e, some)).to_vector(), both);
    EXPECT_SAME_ROWS(q.select(day).except(source(e, some)).to_vector(), rest);
  }
}

CONFORMS(chrono_rows, are_keys_of_joins, "join") {
  const std::vector<std::pair<sys_days, std::int32_t>> holidays{
      {sys_days(2024y / 2 / 29), 1}, {sys_days(days(-1)), 2}, {sys_days(days(9)), 3}};
  for (const std::size_t n : sizes) {
    const auto rows = some_events(n);
    std::vector<std::pair<std::int32_t, std::int32_t>> wanted;
    for (const event& r : rows)
      for (const auto& [day, number] : holidays)
        if (r.day == day) wanted.push_back({r.id, number});
    const auto both = [](auto r, auto h) { return std::pair(r.id, h.second); };
    const auto day = [](auto h) { return h.first; };
    EXPECT_SAME_ROWS(source(e, rows).join(source(e, holidays), [](auto r) { return r.day; }, day, both).to_vector(), wanted);
    std::int64_t matches = 0;
    for (const event& r : rows)
      for (const auto& h : holidays) matches += sys_days(r.date) == h.first;
    EXPECT_EQ(source(e, rows)
                  .join(
                      source(e, holidays), [](auto r) { return query::make_time<sys_days>(r.date); }, day, both)
                  .count(),
              matches);
  }
}

CONFORMS(chrono_rows, have_extremes, "min", "max", "min_by") {
  const auto rows = some_events(20'000);
  const auto q = source(e, rows);
  EXPECT_EQ(q.max([](auto r) { return r.at; }), sys_seconds::max());
  EXPECT_EQ(q.min([](auto r) { return r.at; }), sys_seconds::min());
  EXPECT_EQ(q.min([](auto r) { return r.took; }), milliseconds::min());
  EXPECT_EQ(q.min_by([](auto r) { return r.at; })->id, 4);
}

CONFORMS(chrono_rows, where_takes_times_as_text, "where") {
  const auto rows = some_events(20'000);
  const auto q = source(e, rows);
  EXPECT_ROWS(q.where("at >= '1969-07-20' and took < 'PT1S'").to_vector(),
              kept(rows, [](const event& r) { return r.at >= sys_days(1969y / 7 / 20) && r.took < 1s; }));
  EXPECT_ROWS(q.where(query::parsed("day = ?", sys_days(2024y / 2 / 29))).to_vector(),
              kept(rows, [](const event& r) { return r.day == sys_days(2024y / 2 / 29); }));
  EXPECT_THROW(q.where("day > '2024-02-29T12:00'").count(), query::user_error);
  EXPECT_THROW(q.where("day > 3").count(), query::user_error);
}

CONFORMS(chrono_rows, are_times_of_asof_joins, "asof_join") {
  std::vector<event> rows = inner_events(300);
  std::vector<std::pair<sys_seconds, std::int32_t>> right;
  for (const event& r : rows)
    if (r.id % 3 == 0) right.push_back({r.at - 40min, r.id});
  const auto result = [](auto r, auto match) { return std::pair(r.id, match.has_value() ? match->second : -1); };
  for (const seconds tolerance : {seconds(10h), seconds(0s), seconds(40min)}) {
    std::vector<std::pair<std::int32_t, std::int32_t>> wanted;
    for (const event& r : rows) {
      std::pair<sys_seconds, std::int32_t> best{sys_seconds::min(), -1};
      for (const auto& x : right)
        if (x.first <= r.at && r.at - x.first <= tolerance && x.first >= best.first) best = x;
      wanted.push_back({r.id, best.second});
    }
    EXPECT_ROWS(source(e, rows)
                    .asof_join(source(e, right), [](auto r) { return r.at; }, [](auto x) { return x.first; }, result,
                               {.tolerance = std::chrono::duration_cast<minutes>(tolerance)})
                    .to_vector(),
                wanted);
  }
}

}  // namespace
}  // namespace conformance
