// over(key): functions of windows, beside loops over the rows of each group in their order.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/rows.hpp"

namespace conformance::windows {

struct place { std::int64_t number, rank, dense; double percent, share; std::int64_t quarter; };
QUERY_RECORD(place, number, rank, dense, percent, share, quarter);
struct around { std::optional<std::int64_t> lag, lead; std::int64_t or_else; std::optional<std::string> note; std::int32_t first, last;
                std::optional<std::int32_t> third; };
QUERY_RECORD(around, lag, lead, or_else, note, first, last, third);
struct totals { std::int64_t sum, lots; double mean; std::int64_t most; std::optional<std::int32_t> lot; std::int64_t product, all, n; };
QUERY_RECORD(totals, sum, lots, mean, most, lot, product, all, n);
struct frame { std::int64_t sum, n; std::optional<std::int64_t> least; double mean; std::optional<std::int32_t> last; };
QUERY_RECORD(frame, sum, n, least, mean, last);
struct filled { std::optional<std::int32_t> before, after; std::optional<double> between; };
QUERY_RECORD(filled, before, after, between);
struct middle { std::int64_t distinct; std::optional<double> median, of_three; };
QUERY_RECORD(middle, distinct, median, of_three);

const auto amount = [](const auto& t) { return t.amount; };
const auto id = [](const auto& t) { return t.id; };
const auto lot = [](const auto& t) { return t.lot; };
const auto note = [](const auto& t) { return t.note; };
const auto price = [](const auto& t) { return t.price; };
const auto small = [](const auto& t) { return t.amount % 7; };

// The rows of a group in their order; `ties` tells whether two stand at the same place.
using group = std::vector<std::size_t>;
template <class T, class Key, class Less> std::vector<group> groups_of(const std::vector<T>& rows, const Key& key, const Less& less) {
  std::map<std::string, group> by_key;
  for (std::size_t i = 0; i < rows.size(); ++i) by_key[text(key(rows[i]))].push_back(i);
  std::vector<group> groups;
  for (auto& [k, g] : by_key) {
    std::stable_sort(g.begin(), g.end(), [&](std::size_t a, std::size_t b) { return less(rows[a], rows[b]); });
    groups.push_back(g);
  }
  return groups;
}
// f(group, place in it) for each row, in the order of the rows.
template <class Out, class T, class Key, class Less, class F>
std::vector<Out> expected(const std::vector<T>& rows, const Key& key, const Less& less, const F& f) {
  std::vector<Out> all(rows.size());
  for (const group& g : groups_of(rows, key, less))
    for (std::size_t i = 0; i < g.size(); ++i) all[g[i]] = f(g, i);
  return all;
}
const auto plus_zero = [](double x) { return x == 0 ? 0.0 : x; };
const auto by_price = [](const auto& a, const auto& b) {
  if (std::isnan(a.price) || std::isnan(b.price)) return !std::isnan(a.price) && std::isnan(b.price);
  return a.price < b.price;
};
const auto by_amount = [](const auto& a, const auto& b) { return a.amount < b.amount; };
const auto by_amount_descending = [](const auto& a, const auto& b) { return b.amount < a.amount; };
const auto in_order = [](const auto&, const auto&) { return false; };
// Keys as they are compared: one zero, one NaN.
const auto price_key = [](const auto& t) { return std::isnan(t.price) ? std::nan("") : plus_zero(t.price); };

CONFORMS(windows, ranks, "over") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto wanted = expected<place>(d.rows, lot, by_price, [&](const group& g, std::size_t i) {
      const auto tie = [&](std::size_t a, std::size_t b) {
        return !by_price(d.rows[g[a]], d.rows[g[b]]) && !by_price(d.rows[g[b]], d.rows[g[a]]);
      };
      std::size_t first = i, end = i + 1;
      std::int64_t dense = 1;
      while (first > 0 && tie(first - 1, i)) --first;
      while (end < g.size() && tie(end, i)) ++end;
      for (std::size_t j = 1; j <= i; ++j) dense += !tie(j - 1, j);
      // As SQL: the first n % 4 of 4 buckets have a row more.
      std::int64_t quarter = 0;
      for (std::size_t bucket = 1, begin = 0; bucket <= 4; ++bucket) {
        const std::size_t rows = g.size() / 4 + (bucket <= g.size() % 4);
        if (i >= begin && i < begin + rows) quarter = static_cast<std::int64_t>(bucket);
        begin += rows;
      }
      return place{static_cast<std::int64_t>(i) + 1, static_cast<std::int64_t>(first) + 1, dense,
                   g.size() > 1 ? static_cast<double>(first) / static_cast<double>(g.size() - 1) : 0.0,
                   static_cast<double>(end) / static_cast<double>(g.size()), quarter};
    });
    EXPECT_ROWS(source(e, d.rows).over(lot).order_by(price).select([](const auto&, auto w) {
      return query::make<place>(w.row_number(), w.rank(), w.dense_rank(), w.percent_rank(), w.cume_dist(), w.ntile(4));
    }).to_vector(), wanted);
  }
}

CONFORMS(windows, other_rows_of_the_group, "over") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto at = [&](const group& g, std::size_t i) -> const trade& { return d.rows[g[i]]; };
    const auto wanted = expected<around>(d.rows, price_key, by_amount_descending, [&](const group& g, std::size_t i) {
      around a{};
      if (i >= 1) a.lag = at(g, i - 1).amount;
      if (i + 2 < g.size()) a.lead = at(g, i + 2).amount;
      a.or_else = i >= 3 ? at(g, i - 3).amount : -5;
      if (i >= 1) a.note = at(g, i - 1).note;
      a.first = at(g, 0).id;
      a.last = at(g, g.size() - 1).id;
      if (g.size() > 2) a.third = at(g, 2).id;
      return a;
    });
    EXPECT_ROWS(source(e, d.rows).over(price).order_by_descending(amount).select([](const auto&, auto w) {
      return query::make<around>(w.lag(amount), w.lead(amount, 2), w.lag(amount, 3, -5), w.lag(note), w.first(id), w.last(id),
                                 w.nth(id, 2));
    }).to_vector(), wanted);
  }
}

CONFORMS(windows, running_totals_and_totals, "over") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto wanted = expected<totals>(d.rows, [](const trade& t) { return t.name; }, in_order, [&](const group& g, std::size_t i) {
      totals t{};
      std::uint64_t sum = 0, all = 0, product = 1;
      double mean = 0;
      t.most = d.rows[g[0]].amount;
      for (std::size_t j = 0; j < g.size(); ++j) {
        const trade& r = d.rows[g[j]];
        all += static_cast<std::uint64_t>(r.amount);
        if (j > i) continue;
        sum += static_cast<std::uint64_t>(r.amount);
        product *= static_cast<std::uint64_t>(r.amount % 7);
        t.lots += r.lot.has_value();
        mean += static_cast<double>(r.id);
        t.most = std::max(t.most, r.amount);
        if (r.lot && (!t.lot || *r.lot < *t.lot)) t.lot = r.lot;
      }
      t.sum = static_cast<std::int64_t>(sum);
      t.all = static_cast<std::int64_t>(all);
      t.product = static_cast<std::int64_t>(product);
      t.mean = mean / static_cast<double>(i + 1);
      t.n = static_cast<std::int64_t>(g.size());
      return t;
    });
    EXPECT_ROWS(source(e, d.rows).over([](const auto& t) { return t.name; }).select([](const auto&, auto w) {
      return query::make<totals>(w.cum_sum(amount), w.cum_count(lot), w.cum_mean(id), w.cum_max(amount), w.cum_min(lot),
                                 w.cum_product(small), w.sum(amount), w.count());
    }).to_vector(), wanted);
  }
}

template <class Rows> frame frame_of(const std::vector<Rows>& rows, const group& g, std::size_t begin, std::size_t end, double mean) {
  frame f{};
  std::uint64_t sum = 0;
  for (std::size_t j = begin; j < end; ++j) {
    const std::int64_t v = rows[g[j]].amount;
    sum += static_cast<std::uint64_t>(v);
    if (!f.least || v < *f.least) f.least = v;
    f.last = rows[g[j]].id;
    ++f.n;
  }
  f.sum = static_cast<std::int64_t>(sum);
  f.mean = mean;
  return f;
}

CONFORMS(windows, frames_of_rows, "over") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto key = [](const auto& t) { return t.key; };
    for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{-6, 0}, {-3, -1}, {1, 4}, {2, 1}, {-1, 1}}) {
      if (d.rows.size() > 2000 && (from != -6 || d.rows.size() != many_ticks().size())) continue;  // those of several partitions
      const auto wanted = expected<frame>(d.rows, key, by_amount, [&, first = from, last = to](const group& g, std::size_t i) {
        const auto n = static_cast<std::int64_t>(g.size()), at = static_cast<std::int64_t>(i);
        const std::int64_t begin = std::clamp<std::int64_t>(at + first, 0, n), end = std::clamp<std::int64_t>(at + last + 1, begin, n);
        double sum = 0;
        std::int64_t rows = 0;
        for (std::int64_t j = std::max<std::int64_t>(0, at - 4); j <= at; ++j, ++rows) sum += d.rows[g[static_cast<std::size_t>(j)]].price;
        return frame_of(d.rows, g, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), sum / static_cast<double>(rows));
      });
      EXPECT_ROWS(source(e, d.rows).over(key).order_by(amount).select([first = from, last = to](const auto&, auto w) {
        const auto f = w.rows(first, last);
        return query::make<frame>(f.sum(amount), f.count(), f.min(amount), w.rolling(5).mean(price), f.last(id));
      }).to_vector(), wanted);
    }
  }
}

CONFORMS(windows, frames_by_value, "over") {
  // Of prices NaNs and infinities; of lots nulls, which come first once.
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto wanted = expected<frame>(d.rows, [](const trade& t) { return t.hot; }, by_price, [&](const group& g, std::size_t i) {
      const double here = d.rows[g[i]].price;
      std::size_t begin = g.size(), end = 0;
      for (std::size_t j = 0; j < g.size(); ++j) {
        const double v = d.rows[g[j]].price;
        const bool in = std::isnan(here) ? std::isnan(v) : v == here || (v - here >= -2.5 && v - here <= 1.0);
        if (in) begin = std::min(begin, j), end = j + 1;
      }
      return frame_of(d.rows, g, begin, end, 0);
    });
    EXPECT_ROWS(source(e, d.rows).over([](const auto& t) { return t.hot; }).order_by(price).select([](const auto&, auto w) {
      const auto f = w.range(-2.5, 1.0);
      return query::make<frame>(f.sum(amount), f.count(), f.min(amount), 0.0, f.last(id));
    }).to_vector(), wanted);
    const auto by_lot = [](const trade& a, const trade& b) { return (!a.lot && b.lot) || (a.lot && b.lot && *b.lot < *a.lot); };
    const auto wanted_lots = expected<frame>(d.rows, [](const trade&) { return 0; }, by_lot, [&](const group& g, std::size_t i) {
      const auto here = d.rows[g[i]].lot;
      std::size_t begin = g.size(), end = 0;
      for (std::size_t j = 0; j < g.size(); ++j) {
        const auto v = d.rows[g[j]].lot;
        const auto after = [&] { return static_cast<std::int64_t>(*here) - *v; };
        if (!here ? !v : v && after() >= 1 && after() <= 40) begin = std::min(begin, j), end = j + 1;
      }
      return frame_of(d.rows, g, std::min(begin, end), end, 0);
    });
    EXPECT_ROWS(source(e, d.rows).over().order_by_descending(lot, query::nulls::first).select([](const auto&, auto w) {
      const auto f = w.range(1, 40);
      return query::make<frame>(f.sum(amount), f.count(), f.min(amount), 0.0, f.last(id));
    }).to_vector(), wanted_lots);
  }
}

CONFORMS(windows, values_in_order, "over") {
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    const auto median = [](std::vector<double> v) -> std::optional<double> {
      if (v.empty()) return std::nullopt;
      std::sort(v.begin(), v.end());
      const std::size_t n = v.size();
      return n % 2 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) * 0.5;
    };
    const auto key = [](const auto& t) { return t.key % 3; };
    const auto wanted = expected<middle>(d.rows, key, in_order, [&](const group& g, std::size_t i) {
      std::vector<double> before, three;
      std::vector<std::int64_t> seen;
      for (std::size_t j = i > 8 ? i - 8 : 0; j < i; ++j) {
        before.push_back(d.rows[g[j]].price);
        seen.push_back(d.rows[g[j]].amount % 7);
      }
      for (std::size_t j = i > 2 ? i - 2 : 0; j <= i; ++j) three.push_back(static_cast<double>(d.rows[g[j]].amount));
      std::sort(seen.begin(), seen.end());
      return middle{std::unique(seen.begin(), seen.end()) - seen.begin(), median(before), median(three)};
    });
    EXPECT_ROWS(source(e, d.rows).over(key).select([](const auto&, auto w) {
      const auto f = w.rows(-8, -1);
      return query::make<middle>(f.count_distinct(small), f.median(price), w.rolling(3).median(amount));
    }).to_vector(), wanted);
  }
}

CONFORMS(windows, nulls_filled_in, "over") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto wanted = expected<filled>(d.rows, [](const trade& t) { return t.way; }, in_order, [&](const group& g, std::size_t i) {
      filled f{};
      std::size_t a = i + 1, b = i;
      while (a > 0 && !d.rows[g[a - 1]].lot) --a;
      while (b < g.size() && !d.rows[g[b]].lot) ++b;
      if (a > 0) f.before = d.rows[g[a - 1]].lot;
      if (b < g.size()) f.after = d.rows[g[b]].lot;
      if (f.before && f.after) {
        const double low = *f.before, high = *f.after;
        f.between = a - 1 == b ? low : low + (high - low) * (static_cast<double>(i - (a - 1)) / static_cast<double>(b - (a - 1)));
      }
      return f;
    });
    EXPECT_ROWS(source(e, d.rows).over([](const auto& t) { return t.way; }).select([](const auto&, auto w) {
      return query::make<filled>(w.fill_forward(lot), w.fill_backward(lot), w.interpolate(lot));
    }).to_vector(), wanted);
  }
}

CONFORMS(windows, chosen_rows, "over") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto kept = [&](const auto& key, const auto& less, const auto& keeps) {
      std::vector<char> keep(d.rows.size());
      for (const group& g : groups_of(d.rows, key, less))
        for (std::size_t i = 0; i < g.size(); ++i) keep[g[i]] = keeps(g, i);
      std::vector<std::int32_t> ids;
      for (std::size_t i = 0; i < keep.size(); ++i)
        if (keep[i]) ids.push_back(d.rows[i].id);
      return ids;
    };
    const auto first_two = [](const group&, std::size_t i) { return i < 2; };
    const auto note_key = [](const trade& t) { return t.note; };
    EXPECT_ROWS(source(e, d.rows).over(note).order_by_descending(amount).then_by(id).take(2).select(id).to_vector(),
                kept(note_key, by_amount_descending, first_two));
    EXPECT_ROWS(source(e, d.rows).over(note).top(2, amount).select(id).to_vector(), kept(note_key, by_amount_descending, first_two));
    EXPECT_ROWS(source(e, d.rows).over().order_by(price).take(3).select(id).to_vector(),
                kept([](const trade&) { return 0; }, by_price, [](const group&, std::size_t i) { return i < 3; }));
    // Rows after the smallest id of their group, by functions that name their types.
    EXPECT_ROWS(source(e, d.rows).over([](const trade& t) { return t.key; }).where([](const trade& t, const auto& w) {
      return t.id > w.min(id);
    }).select(id).to_vector(), kept([](const trade& t) { return t.key; }, in_order, [&](const group& g, std::size_t i) {
      return std::any_of(g.begin(), g.end(), [&](std::size_t j) { return d.rows[j].id < d.rows[g[i]].id; });
    }));
    EXPECT_ROWS(source(e, d.rows).over(note).where([](const auto&, const auto&) { return false; }).select(id).to_vector(), {});
  }
}

CONFORMS(windows, orders_of_the_users, "over") {
  const auto by_last_digit = [](std::int64_t a, std::int64_t b) { return a % 10 < b % 10; };
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    const auto wanted = expected<std::int64_t>(d.rows, [](const tick& t) { return t.key; }, [&](const tick& a, const tick& b) {
      return by_last_digit(a.amount, b.amount);
    }, [&](const group& g, std::size_t i) {
      while (i > 0 && !by_last_digit(d.rows[g[i - 1]].amount, d.rows[g[i]].amount)) --i;
      return static_cast<std::int64_t>(i) + 1;
    });
    EXPECT_ROWS(source(e, d.rows).over([](const auto& t) { return t.key; }).order_by(amount, by_last_digit).select([](const auto&, auto w) {
      return w.rank();
    }).to_vector(), wanted);
  }
}

CONFORMS(windows, what_a_function_passes_on, "over") {
  const auto rows = few_trades();
  const auto q = source(e, rows).over([](const auto& t) { return t.key; }).order_by(id);
  // Captures are said by query::with; functions are found again by what they capture, whatever the row.
  const auto near = q.select([](const auto& t, auto w) {
    const std::int64_t limit = t.id % 2 ? 3 : 11;
    return w.count(query::with([](const auto& u, std::int64_t least) { return u.amount >= least; }, limit));
  }).to_vector();
  const auto wanted = expected<std::int64_t>(rows, [](const trade& t) { return t.key; }, in_order, [&](const group& g, std::size_t i) {
    return std::count_if(g.begin(), g.end(), [&](std::size_t j) { return rows[j].amount >= (rows[g[i]].id % 2 ? 3 : 11); });
  });
  EXPECT_ROWS(near, wanted);
  EXPECT_MESSAGE("ntile: ", q.select([](const auto&, auto w) { return w.ntile(0); }).to_vector());
  EXPECT_MESSAGE("rolling: ", q.select([](const auto&, auto w) { return w.rolling(-1).count(); }).to_vector());
  const auto amount = [](const auto& t) { return t.amount; };
  EXPECT_THROW(q.select([=](const auto&, auto w) { return w.rows(-1, 1).quantile(amount, 1.5); }).to_vector(), query::user_error);
  EXPECT_THROW(q.select([=](const auto&, auto w) { return w.quantile(amount, -0.5); }).to_vector(), query::user_error);
  EXPECT_THROW(q.select([](const auto&, auto w) { return w.range(std::nan(""), 0.0).size(); }).to_vector(), query::user_error);
  const auto narrow = [](const auto& t) { return static_cast<std::int32_t>(t.amount); };
  EXPECT_THROW(q.select([=](const auto&, auto w) { return w.lag(narrow, 1, std::int64_t{1} << 40); }).to_vector(), query::user_error);
}

// Bounds of two types, and beyond all distances; equal infinities have a median.
CONFORMS(windows, extremes_of_ranges_and_medians, "over") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers = {infinity, 1, infinity, infinity};
  const auto itself = [](auto x) { return x; };
  const auto q = source(e, numbers).over().order_by(itself);
  EXPECT_ROWS(q.select([=](auto, auto w) { return w.rows(-1, 0).median(itself).value(); }).to_vector(),
              (std::vector<double>{infinity, 1, infinity, infinity}));
  EXPECT_ROWS(q.select([](auto, auto w) { return w.range(-infinity, 0).size(); }).to_vector(), (std::vector<std::int64_t>{4, 1, 4, 4}));
  const std::vector<std::int64_t> whole = {3, 1, 2};
  const auto ordered = source(e, whole).over().order_by(itself);
  EXPECT_ROWS(ordered.select([](auto, auto w) { return w.range(0, ~std::uint64_t{0}).size(); }).to_vector(),
              (std::vector<std::int64_t>{1, 3, 2}));
}

// Whatever f gives, which need not be made of a number.
CONFORMS(windows, first_and_last_of_texts_pairs_and_records, "over") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto texts = [](const auto& t) { return std::pair(t.name, t.note); };
    const auto whole = [](const trade& t) { return t; };
    const auto at_ends = [&](const auto& f) {
      return expected<std::pair<decltype(f(d.rows[0])), decltype(f(d.rows[0]))>>(d.rows, lot, by_amount, [&](const group& g, std::size_t) {
        return std::pair(f(d.rows[g.front()]), f(d.rows[g.back()]));
      });
    };
    const auto q = source(e, d.rows).over(lot).order_by(amount);
    const auto given = [&](const auto& f) {
      return q.select([f](const auto&, auto w) { return std::pair(w.first(f), w.last(f)); }).to_vector();
    };
    EXPECT_ROWS(given(note), at_ends(note));
    EXPECT_ROWS(given([](const auto& t) { return t.name; }), at_ends([](const trade& t) { return t.name; }));
    EXPECT_ROWS(given(texts), at_ends(texts));
    EXPECT_ROWS(given(whole), at_ends(whole));
  }
}

struct seen {
  std::chrono::sys_time<std::chrono::milliseconds> at;
  std::optional<std::chrono::seconds> took;
  std::int64_t n = 0;
};
QUERY_RECORD(seen, at, took, n);

// Bounds of times are durations of the key's unit or a coarser one; those that are too long in its unit reach to the end.
CONFORMS(windows, ranges_of_times_and_durations, "over") {
  using namespace std::chrono_literals;
  std::vector<seen> rows;
  for (std::int64_t i = 0; i < 500; ++i) {
    const std::int64_t x = (i * 7919) % 100'003;
    rows.push_back({std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(x * 100 - 3'000'000)),
                    x % 7 == 0 ? std::nullopt : std::optional(std::chrono::seconds(x % 300)), x});
  }
  const auto sums = [&](const auto& within) {
    std::vector<std::int64_t> all;
    for (const seen& here : rows) {
      std::int64_t sum = 0;
      for (const seen& other : rows)
        if (within(here, other)) sum += other.n;
      all.push_back(sum);
    }
    return all;
  };
  const auto at = [](const auto& r) { return r.at; };
  const auto took = [](const auto& r) { return r.took; };
  const auto n = [](const auto& r) { return r.n; };
  const auto q = source(e, rows).over();
  EXPECT_ROWS(q.order_by(at).select([=](auto, auto w) { return w.range(-90min, 1500ms).sum(n); }).to_vector(),
              sums([](const seen& a, const seen& b) { return b.at - a.at >= -90min && b.at - a.at <= 1500ms; }));
  EXPECT_ROWS(q.order_by_descending(at).select([=](auto, auto w) { return w.range(1h, std::chrono::hours::max()).sum(n); }).to_vector(),
              sums([](const seen& a, const seen& b) { return a.at - b.at >= 1h; }));
  EXPECT_ROWS(q.order_by(took).select([=](auto, auto w) { return w.range(-1min, 0s).sum(n); }).to_vector(),
              sums([](const seen& a, const seen& b) {
                if (!a.took || !b.took) return !a.took && !b.took;
                return *b.took - *a.took >= -1min && *b.took <= *a.took;
              }));
  EXPECT_ROWS(q.order_by(at).select([=](auto, auto w) { return w.range(std::chrono::hours::min(), 0s).sum(n); }).to_vector(),
              sums([](const seen& a, const seen& b) { return b.at <= a.at; }));
}

struct undescribed { int key, value; };

CONFORMS(windows, rows_that_are_no_records, "over") {
  const std::vector<std::int64_t> numbers = {5, -3, 5, 8, -3, 0};
  const auto itself = [](auto x) { return x; };
  EXPECT_ROWS(source(e, numbers).over().order_by(itself).select([](auto, auto w) { return w.dense_rank(); }).to_vector(),
              (std::vector<std::int64_t>{3, 1, 3, 4, 1, 2}));
  const std::vector<std::string> texts = {"b", "a", "b", "", "a longer text than fits in place", "a longer text than fits in place"};
  EXPECT_ROWS(source(e, texts).over([](const auto& x) { return x; }).select([](const auto& x, auto w) {
    return x + std::to_string(w.row_number());
  }).to_vector(),
              (std::vector<std::string>{"b1", "a1", "b2", "1", "a longer text than fits in place1", "a longer text than fits in place2"}));
  const std::vector<undescribed> plain = {{1, 4}, {2, 5}, {1, 6}};
  EXPECT_ROWS(source(e, plain).over([](const undescribed& u) { return u.key; }).select([](const undescribed& u, const auto& w) {
    return u.value * 100 + static_cast<int>(w.sum([](const undescribed& v) { return v.value; }));
  }).to_vector(), (std::vector<int>{410, 505, 610}));
}

CONFORMS(windows, plan, "over") {
  const auto by_key = source(e, few_trades()).over(lot).order_by(id).select([](const auto&, auto w) { return w.rank(); }).explain();
  EXPECT_NE(by_key.find("over (hash_partitioned_by)"), std::string::npos) << by_key;
  const auto whole = source(e, few_trades()).over().order_by(id).select([](const auto&, auto w) { return w.rank(); }).explain();
  EXPECT_NE(whole.find("over (apply_all)"), std::string::npos) << whole;
}

}  // namespace conformance::windows
