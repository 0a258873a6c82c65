// group_by whose tables of groups, states or results have no room in memory: rows go to files once tables have their share, and results
// where they are too many. The answer, its order and the last bits of its sums are those of enough memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/alike_in_little_memory.hpp"
#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct PageVisit {
  std::int64_t page;
  std::string visitor;
  double seconds;
  std::int32_t clicks;
};
QUERY_RECORD(PageVisit, page, visitor, seconds, clicks);

namespace {

constexpr std::size_t visits = sanitized ? 400'000 : 1'000'000;  // some of the fewer need no files

std::uint64_t mixed(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 29)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 32);
}

struct visit_columns {
  std::vector<std::int64_t> page;
  std::vector<std::string> visitor;
  std::vector<double> seconds;
  std::vector<std::int32_t> clicks;
};
enum class keys { many, few, skewed, all_different };
visit_columns made(keys how) {
  visit_columns c;
  for (std::size_t i = 0; i < visits; ++i) {
    const std::uint64_t x = mixed(i);
    std::uint64_t key = x % 30'000;
    if (how == keys::few) key = x % 7;
    if (how == keys::skewed) key = x % 10 ? 3 : x >> 44;
    if (how == keys::all_different) key = i * 7919 % visits;
    c.page.push_back(static_cast<std::int64_t>(key) * 1'000'003 - 5);
    c.visitor.push_back("the visitor with the number " + std::to_string(key));
    c.seconds.push_back(static_cast<double>(x >> 40) / 977.0);
    c.clicks.push_back(static_cast<std::int32_t>(x >> 50));
  }
  return c;
}
const visit_columns& columns_with(keys how) {
  static const visit_columns all[] = {made(keys::many), made(keys::few), made(keys::skewed), made(keys::all_different)};
  return all[static_cast<std::size_t>(how)];
}
const std::vector<PageVisit>& records_with(keys how) {
  static std::vector<PageVisit> all[4];
  std::vector<PageVisit>& v = all[static_cast<std::size_t>(how)];
  const visit_columns& c = columns_with(how);
  if (v.empty())
    for (std::size_t i = 0; i < visits; ++i) v.push_back({c.page[i], c.visitor[i], c.seconds[i], c.clicks[i]});
  return v;
}

// Sources: columns, records, and a generator whose length nobody knows.
auto from_columns(keys how, const Session& s) {
  const visit_columns& c = columns_with(how);
  return from(columns<PageVisit>(c.page, c.visitor, c.seconds, c.clicks)).in(s);
}
auto from_records(keys how, const Session& s) { return from(records_with(how)).in(s); }
auto generated(keys how, const Session& s) {
  return generate([how, i = std::size_t{0}]() mutable -> std::optional<PageVisit> {
           const visit_columns& c = columns_with(how);
           if (i == visits) return std::nullopt;
           const std::size_t at = i++;
           return PageVisit{c.page[at], c.visitor[at], c.seconds[at], c.clicks[at]};
         }).in(s);
}

const auto page = [](auto v) { return v.page; };
const auto visitor = [](auto v) { return v.visitor; };
template <class Key> auto sums(Key key) {
  return [key](auto q) {
    return q.group_by(key).select([](auto g) {
      return std::tuple(g.key(), g.sum([](auto v) { return v.seconds; }), g.mean([](auto v) { return v.seconds * v.clicks; }), g.count());
    });
  };
}

TEST(spilled_group_tables, of_a_part_each) {
  expect_alike("numbers in columns", 8u << 20, [](const Session& s) { return from_columns(keys::many, s); }, sums(page));
  expect_alike("strings in columns", 10u << 20, [](const Session& s) { return from_columns(keys::many, s); }, sums(visitor));
  expect_alike("records", 10u << 20, [](const Session& s) { return from_records(keys::many, s); }, sums(page));
  expect_alike("keys that compiled code computes", 12u << 20, [](const Session& s) { return from_records(keys::many, s); },
               sums(query::opaque([](const PageVisit& v) { return v.page * 3 + 1; })));
  expect_alike("in order of appearance", 10u << 20, [](const Session& s) { return from_columns(keys::many, s); },
               [](auto q) { return sums(page)(q).as_ordered(); });
  expect_alike("behind a test", 8u << 20, [](const Session& s) { return from_columns(keys::many, s); },
               [](auto q) { return sums(page)(q.where([](auto v) { return v.clicks % 3 != 1; })); });
  expect_alike("most rows of one key", 12u << 20, [](const Session& s) { return from_records(keys::skewed, s); }, sums(page), false);
}

TEST(spilled_group_tables, of_generators) {
  expect_alike("numbers", 24u << 20, [](const Session& s) { return generated(keys::all_different, s); }, sums(page));
  expect_alike("strings", 40u << 20, [](const Session& s) { return generated(keys::all_different, s); }, sums(visitor));
  expect_alike("in order of appearance", 24u << 20, [](const Session& s) { return generated(keys::all_different, s); },
               [](auto q) { return sums(page)(q).as_ordered(); });
}

// Memory may be full when the last row has been seen, or when tables have been merged: then no row goes to a file.
TEST(spilled_group_tables, of_generators_that_end_where_memory_does) {
  for (std::int64_t n = 8'000; n <= 16'000; n += sanitized ? 1'000 : 250) {
    Session little({.threads = 2, .memory_limit = 4u << 20});
    const auto q = generate([n, i = std::int64_t{0}]() mutable { return i == n ? std::nullopt : std::optional(i++); }).in(little);
    const auto sums = q.group_by([](auto v) { return v * 7; }).select([](auto g) { return g.sum([](auto v) { return v; }); });
    EXPECT_EQ(sums.to_vector().size(), static_cast<std::size_t>(n));
    EXPECT_EQ(sums.sum(), n * (n - 1) / 2);
  }
}

TEST(spilled_group_tables, with_states_that_keep_rows) {
  const auto middle = [](auto q) {
    return q.group_by(page).select([](auto g) { return std::tuple(g.key(), g.median([](auto v) { return v.seconds; }), g.count()); });
  };
  expect_alike("medians of many groups", 12u << 20, [](const Session& s) { return from_columns(keys::many, s); }, middle);
  expect_alike("medians of few groups", 12u << 20, [](const Session& s) { return from_columns(keys::few, s); }, middle, false);
  expect_alike("lists", 40u << 20, [](const Session& s) { return from_columns(keys::many, s); }, [](auto q) {
    return q.group_by(page).select([](auto g) { return std::pair(g.key(), g.collect([](auto v) { return v.clicks; })); });
  }, false);
  expect_alike("different values", 24u << 20, [](const Session& s) { return from_columns(keys::many, s); }, [](auto q) {
    return q.group_by(page).select([](auto g) {
      return std::tuple(g.key(), g.count_distinct([](auto v) { return v.clicks; }), g.first([](auto v) { return v.seconds; }),
                        g.last([](auto v) { return v.clicks; }));
    });
  }, false);
}

TEST(spilled_group_tables, with_results_that_have_no_room) {
  expect_alike("numbers", 16u << 20, [](const Session& s) { return from_columns(keys::all_different, s); }, sums(page));
  expect_alike("strings", 16u << 20, [](const Session& s) { return from_columns(keys::all_different, s); }, sums(visitor));
  expect_alike("strings of records", 20u << 20, [](const Session& s) { return from_records(keys::all_different, s); }, sums(visitor));
  expect_alike("in order of appearance", 16u << 20, [](const Session& s) { return from_columns(keys::all_different, s); },
               [](auto q) { return sums(page)(q).as_ordered(); });
  expect_alike("sorted afterwards", 20u << 20, [](const Session& s) { return from_columns(keys::all_different, s); },
               [](auto q) { return sums(page)(q).order_by([](auto t) { return -std::get<0>(t); }); });
}

TEST(spilled_group_tables, functions_see_each_row_once) {
  const temp_folder at("spilled_group_tables_test");
  Session little({.threads = 1, .memory_limit = 10u << 20, .temp_folder = at.name()});
  std::atomic<std::size_t> of_keys = 0, of_rows = 0;
  const auto q = from_records(keys::many, little)
                     .group_by(query::opaque([&](const PageVisit& v) {
                       ++of_keys;
                       return v.page;
                     }))
                     .select([&](auto g) {
                       return g.sum([&](const PageVisit& v) {
                         ++of_rows;
                         return std::int64_t{v.clicks};
                       });
                     });
  std::int64_t wanted = 0;
  for (const std::int32_t c : columns_with(keys::many).clicks) wanted += c;
  EXPECT_EQ(q.sum(), wanted);
  EXPECT_TRUE(sanitized || q.explain().find(" temporary file") != std::string::npos) << q.explain();
  EXPECT_EQ(of_keys, visits);
  EXPECT_EQ(of_rows, visits);
}

TEST(spilled_group_tables, what_goes_wrong_leaves_the_session_usable) {
  const temp_folder at("spilled_group_tables_test");
  Session little({.threads = 2, .memory_limit = 10u << 20, .temp_folder = at.name()});
  for (const bool stop : {false, true}) {
    std::stop_source source;
    std::atomic<std::size_t> seen = 0;
    const auto q = from_records(keys::many, little).stop_on(source.get_token()).group_by(page).select([&](auto g) {
      return g.sum([&](const PageVisit& v) -> std::int64_t {
        if (++seen == visits - 10) {
          if (!stop) throw std::domain_error("late");
          source.request_stop();
        }
        return v.clicks;
      });
    });
    if (stop) {
      EXPECT_THROW(q.to_vector(), cancelled);
    } else {
      EXPECT_THROW(q.to_vector(), std::domain_error);
    }
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  }
  EXPECT_EQ(sums(page)(from_columns(keys::many, little)).count(), 30'000u);
}

}  // namespace
}  // namespace query::tests
