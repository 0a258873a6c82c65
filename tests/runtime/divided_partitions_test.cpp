// Partition verbs, functions of their partitions, windows and take over several partitions of a cluster graph: the rows of one, in its
// order, and plans that say where they run.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace divided_partitions_test {

struct row {
  std::int64_t id;
  std::int32_t key;
  double x;
  std::optional<std::int32_t> maybe;
  std::string text;
  friend bool operator==(const row&, const row&) = default;
};
QUERY_RECORD(row, id, key, x, maybe, text);
struct place {
  std::int64_t id, number;
  double before;
  friend bool operator==(const place&, const place&) = default;
};
QUERY_RECORD(place, id, number, before);
struct sum_of {
  std::int32_t key;
  std::int64_t n;
  friend bool operator==(const sum_of&, const sum_of&) = default;
};
QUERY_RECORD(sum_of, key, n);

std::vector<row> drawn(std::size_t n) {
  std::mt19937 g(static_cast<unsigned>(n) + 1);
  std::vector<row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    row r{static_cast<std::int64_t>(i), static_cast<std::int32_t>(g() % 97), static_cast<double>(g() % 2'000) - 1'000, std::nullopt, ""};
    if (g() % 10 == 0) r.x = g() % 2 ? 0.0 : -0.0;
    if (g() % 4) r.maybe = static_cast<std::int32_t>(g() % 10) - 5;
    if (g() % 50 == 0) r.maybe = std::numeric_limits<std::int32_t>::min();
    r.text = (g() % 2 ? "longer than any buffer within a string: " : "") + std::to_string(g() % 30);
    rows.push_back(std::move(r));
  }
  return rows;
}
query::Session session(int partitions, bool interpret = false) {
  query::Session s({.threads = 2, .interpret = interpret, .gpu = query::gpu_use::off});
  s.state()->partitions = partitions;
  return s;
}

// f(rows in a session): the same in one partition, in four, and in seven.
template <class F> void expect_as_in_one(const F& f) {
  for (const bool interpret : {false, true})
    for (const std::size_t n : {0, 1, 2, 5, 300, 20'000}) {
      const std::vector<row> rows = drawn(n);
      const auto one = f(query::from(rows).in(session(1, interpret)));
      for (const int partitions : {4, 7})
        EXPECT_EQ(f(query::from(rows).in(session(partitions, interpret))), one)
            << n << " rows, " << partitions << " partitions" << (interpret ? ", interpreted" : "");
    }
}
void expect_in(const std::string& plan, const std::string& part) { EXPECT_NE(plan.find(part), plan.npos) << part << "\nin\n" << plan; }
void expect_not_in(const std::string& plan, const std::string& part) { EXPECT_EQ(plan.find(part), plan.npos) << part << "\nin\n" << plan; }

const auto key = [](auto r) { return r.key; };
const auto ids = [](std::span<const row> rows) {
  std::vector<std::vector<std::int64_t>> all(1);
  for (const row& r : rows) all[0].push_back(r.id);
  return all;
};
const auto windows = [](const auto& q) {
  return q.over(key)
      .order_by([](const auto& r) { return r.x; })
      .select([](const auto& r, auto w) {
        return query::make<place>(r.id, w.row_number(), w.lag([](const auto& o) { return o.x; }).value_or(-1.0));
      });
};

TEST(divided_partitions, windows_keep_the_order_of_rows) {
  expect_as_in_one([](const auto& q) { return windows(q).to_vector(); });
  expect_as_in_one([](const auto& q) { return windows(q.where([](auto r) { return r.key % 3 == 1; })).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.over([](auto r) { return r.maybe; }).take(2).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.over([](auto r) { return r.text; }).top(3, [](auto r) { return r.x; }).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.group_by(key).top(2, [](auto r) { return r.x; }).to_vector(); });
  expect_as_in_one([](const auto& q) { return windows(q.index().select([](auto r) { return r.value; })).to_vector(); });
}
TEST(divided_partitions, windows_run_in_all_partitions) {
  const std::vector<row> rows = drawn(500);
  const std::string plan = windows(query::from(rows).in(session(4))).explain();
  expect_in(plan, "exchange by hash for over");
  expect_in(plan, "exchange by range for over");
  expect_not_in(plan, "in one partition: ");
  const std::string numbered = windows(query::from(rows).in(session(4)).select([](auto r, auto i) {
    return query::make<row>(i, r.key, r.x, r.maybe, r.text);
  })).explain();
  expect_in(numbered, "in one partition: its rows are numbered");
}
TEST(divided_partitions, windows_of_rows_that_lie_right_need_no_exchange) {
  const std::vector<row> rows = drawn(5'000);
  const auto ranked = [](const auto& q) {
    return q.group_by(key)
        .select([](auto g) { return query::make<sum_of>(g.key(), g.count()); })
        .over([](auto s) { return s.key; })
        .select([](const auto& s, auto w) { return query::make<sum_of>(s.key, w.row_number()); });
  };
  expect_in(ranked(query::from(rows).in(session(4))).explain(), "over: no exchange, rows lie by the hash of its key already");
  const auto sorted = [&](int partitions) {
    return ranked(query::from(rows).in(session(partitions))).order_by([](auto s) { return s.key; }).to_vector();
  };
  EXPECT_EQ(sorted(4), sorted(1));
}

TEST(divided_partitions, apply_gets_the_partitions_of_one_process) {
  for (const std::size_t n : {0, 1, 3, 4, 6, 50})
    expect_as_in_one([&](const auto& q) { return q.hash_partitioned_by(key, n).apply(ids).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.hash_partitioned_by([](auto r) { return r.text; }, 9).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.hash_partitioned_by([](auto r) { return r.maybe; }, 9).apply(ids).to_vector(); });
  expect_as_in_one([](const auto& q) {
    return q.hash_partitioned_by(key, 9).where([](auto r) { return r.x > 0; }).apply(ids).to_vector();
  });
  expect_as_in_one([](const auto& q) { return q.hash_partitioned_by(key, 9).select([](auto r, auto i) { return i + r.id; }).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.hash_partitioned_by(key, 9).cached().apply(ids).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.range_partitioned_by(key, 5).apply(ids).to_vector(); });
  expect_as_in_one([](const auto& q) { return q.partitioned(5).apply(ids).to_vector(); });
}
TEST(divided_partitions, plans_say_where_partitions_are) {
  const std::vector<row> rows = drawn(500);
  const auto q = query::from(rows).in(session(4));
  const std::string by_hash = q.hash_partitioned_by(key, 9).apply(ids).explain();
  expect_in(by_hash, "exchange by hash for hash_partitioned_by");
  expect_in(by_hash, "each partition of the cluster has some of its partitions");
  expect_not_in(by_hash, "apply                                                              cpu, in one partition");
  expect_in(q.range_partitioned_by(key, 9).apply(ids).explain(), "in one partition: where a partition begins depends on the rank");
  const auto same = [](std::int32_t a, std::int32_t b) { return a == b; };
  const auto hash = [](std::int32_t k) { return static_cast<std::size_t>(k); };
  expect_in(q.hash_partitioned_by(key, 9, same, hash).apply(ids).explain(), "in one partition: it compares keys by");
}

TEST(divided_partitions, take_wants_few_rows_of_each) {
  const auto groups = [](const auto& q) {
    return q.group_by(key).select([](auto g) { return query::make<sum_of>(g.key(), g.count()); });
  };
  const std::vector<row> rows = drawn(5'000);
  const auto four = session(4);
  const auto few = groups(query::from(rows).in(four)).take(3);
  expect_in(few.explain(), "of each partition");
  const std::uint64_t before = four.state()->sent_rows;
  const auto all = groups(query::from(rows).in(four)).to_vector();
  const std::uint64_t of_all = four.state()->sent_rows - before;
  EXPECT_EQ(few.to_vector(), std::vector<sum_of>(all.begin(), all.begin() + 3));
  const std::uint64_t of_few = four.state()->sent_rows - before - of_all;
  EXPECT_LE(of_few + all.size(), of_all + 4 * 3);
  for (const std::size_t n : {0, 1, 50, 1000}) {
    const auto some = groups(query::from(rows).in(four)).take(n).to_vector();
    EXPECT_EQ(some, std::vector<sum_of>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(n, all.size())))) << n;
  }
  expect_as_in_one([](const auto& q) { return q.order_by([](auto r) { return r.x; }).select(key).order().take(7).to_vector(); });
}

TEST(divided_partitions, rows_of_concatenations_stay) {
  const std::vector<row> more = drawn(3'000);
  const auto groups = [&](const auto& q) {
    return q.concat(query::from(more).where([](auto r) { return r.x > 0; })).group_by(key).select([](auto g) {
      return query::make<sum_of>(g.key(), g.sum([](auto r) { return r.id; }) + g.max([](auto r) { return r.id; }));
    });
  };
  const auto sorted = [](const auto& q) { return q.order_by([](auto s) { return s.key; }).to_vector(); };
  expect_as_in_one([&](const auto& q) { return sorted(groups(q)); });
  expect_as_in_one([&](const auto& q) { return q.concat(query::from(more)).where([](auto r) { return r.key > 3; }).count(); });
  expect_as_in_one([&](const auto& q) { return q.append(more[0]).select(key).sum(); });
  expect_as_in_one([&](const auto& q) { return q.select(key).concat(query::from(more).select(key)).distinct().order().to_vector(); });
  // These show the order.
  expect_as_in_one([&](const auto& q) { return q.concat(query::from(more)).to_vector(); });
  expect_as_in_one([&](const auto& q) {
    return sorted(q.concat(query::from(more)).group_by(key).select([](auto g) {
      return query::make<sum_of>(g.key(), g.first([](auto r) { return r.id; }) + g.last([](auto r) { return r.id; }));
    }));
  });
  expect_as_in_one([&](const auto& q) { return q.concat(query::from(more)).group_by(key).as_ordered().select([](auto g) {
    return query::make<sum_of>(g.key(), g.count());
  }).to_vector(); });
  const std::vector<row> rows = drawn(500);
  const std::string plan = groups(query::from(rows).in(session(4))).explain();
  expect_in(plan, "its rows stay where they are: what reads them gives the same in any order");
  expect_in(query::from(rows).in(session(4)).concat(query::from(more)).reverse().explain(), "in one partition: it wants all rows in their");
}

}  // namespace divided_partitions_test
