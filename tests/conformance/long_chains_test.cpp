// Chains of verbs that are grown in loops: longer than stages call each other, concatenations and unions that become one vertex.
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <variant>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

std::vector<std::int32_t> keys_of(const std::vector<tick>& rows) {
  return selected(rows, [](const tick& t) { return t.key; });
}

CONFORMS(long_chains, rows_are_appended_and_prepended_in_order, "append", "prepend", "concat") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto keys = keys_of(d.rows);
    query::Query<std::int32_t> q = source(e, keys);
    std::vector<std::int32_t> wanted = keys;
    for (std::int32_t i = 0; i < 300; ++i) {
      switch (i % 3) {
        case 0:
          q = q.append(i);
          wanted.push_back(i);
          break;
        case 1:
          q = q.prepend(i);
          wanted.insert(wanted.begin(), i);
          break;
        default:
          q = q.concat(source(e, std::vector<std::int32_t>{i, -i}));
          wanted.insert(wanted.end(), {i, -i});
      }
    }
    EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_EQ(q.count(), std::ssize(wanted));
    EXPECT_ROWS(q.take(7).to_vector(), std::vector<std::int32_t>(wanted.begin(), wanted.begin() + 7));
    std::vector<std::int32_t> one_by_one;
    for (const auto k : q) one_by_one.push_back(k);
    EXPECT_ROWS(one_by_one, wanted);
  }
}

CONFORMS(long_chains, a_concatenation_with_two_readers_stays_one, "concat") {
  const std::vector<std::int32_t> few{1, 2};
  const auto both = source(e, few).append(3);
  const auto twice = both.append(4).concat(both.append(5));
  EXPECT_ROWS(twice.to_vector(), (std::vector<std::int32_t>{1, 2, 3, 4, 1, 2, 3, 5}));
  query::Query<std::int32_t> doubled = source(e, few);
  for (int i = 0; i < 10; ++i) doubled = doubled.concat(doubled);
  EXPECT_EQ(doubled.count(), 2048);
}

CONFORMS(long_chains, unions_keep_one_row_of_each_key, "union_with", "union_with_by", "distinct") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto keys = keys_of(d.rows);
    query::Query<std::int32_t> q = source(e, keys);
    std::vector<std::int32_t> all = keys;
    for (std::int32_t i = 0; i < 60; ++i) {
      const std::vector<std::int32_t> more{i % 7, i, 1000 + i % 11};
      const auto few_more = source(e, std::vector<std::int32_t>(more));
      q = i % 2 ? q.union_with(few_more) : few_more.union_with(q);
      all.insert(i % 2 ? all.end() : all.begin(), more.begin(), more.end());
    }
    std::vector<std::int32_t> wanted = all;
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    auto given = q.to_vector();
    std::sort(given.begin(), given.end());
    EXPECT_ROWS(given, wanted);
    EXPECT_EQ(q.count(), std::ssize(wanted));
  }
}

CONFORMS(long_chains, unions_by_different_keys_are_not_one, "union_with_by") {
  const std::vector<std::int32_t> a{1, 2, 3, 4}, b{11, 12, 25}, c{31, 42, 16};
  const auto by_ten = source(e, a).union_with_by(source(e, b), [](auto x) { return x % 10; });         // 1 2 3 4 25
  const auto by_five = by_ten.union_with_by(source(e, c), [](auto x) { return x % 5; }).as_ordered();  // 1 2 3 4 25: all keys are there
  EXPECT_ROWS(by_five.order_by([](auto x) { return x; }).to_vector(), (std::vector<std::int32_t>{1, 2, 3, 4, 25}));
}

CONFORMS(long_chains, more_row_wise_verbs_than_call_each_other, "where", "select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    query::Query<std::int32_t> q = source(e, d.rows).select([](auto t) { return t.key; });
    std::vector<std::int32_t> wanted = keys_of(d.rows);
    for (std::int32_t i = 0; i < 80; ++i) {
      if (i % 2) {
        q = q.select([i](auto k) { return k + i; });
        for (auto& k : wanted) k += i;
      } else {
        q = q.where([i](auto k) { return k % 97 != i; });
        std::erase_if(wanted, [i](auto k) { return k % 97 == i; });
      }
    }
    EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_EQ(q.count(), std::ssize(wanted));
    std::int64_t sum = 0;
    for (const auto k : wanted) sum += k;
    EXPECT_EQ(q.sum(), sum);
  }
}

CONFORMS(long_chains, sorts_and_reversals_that_nobody_needs, "order_by", "reverse", "count") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto keys = keys_of(d.rows);
    query::Query<std::int32_t> q = source(e, keys);
    for (int i = 0; i < 60; ++i) {
      if (i % 3 == 0) q = q.order_by([](auto k) { return k; });
      else if (i % 3 == 1) q = q.where([](auto k) { return k != 2; });
      else q = q.reverse();
    }
    auto wanted = kept(keys, [](auto k) { return k != 2; });
    EXPECT_EQ(q.count(), std::ssize(wanted));
    std::stable_sort(wanted.begin(), wanted.end());
    std::reverse(wanted.begin(), wanted.end());
    EXPECT_ROWS(q.to_vector(), wanted);
  }
}

CONFORMS(long_chains, more_joins_than_call_each_other, "join") {
  const std::vector<std::int32_t> others{1, 2, 3, 5, 8};
  const auto key = [](auto k) { return k; };
  query::Query<std::int32_t> q = source(e, others);
  for (int i = 0; i < 40; ++i) q = q.join(source(e, others), key, key, [](auto a, auto) { return a; });
  auto given = q.to_vector();
  std::sort(given.begin(), given.end());
  EXPECT_ROWS(given, others);
}

// Each verb alone, and all of them in turn: they keep the rows, in some order.
// The ways to the source double with each verb, and the vertices do not: by a range-for as by to_vector().
CONFORMS(long_chains, queries_that_read_themselves_twice, "zip", "union_with", "intersect", "semi_join", "begin", "to_vector") {
  const std::vector<std::int32_t> rows = {3, 1, 2};
  using some = query::Query<std::int32_t>;
  const auto itself = [](auto x) { return x; };
  const auto check = [&](const char* verb, const std::function<some(const some&)>& twice) {
    SCOPED_TRACE(verb);
    some q = source(e, rows);
    for (int i = 0; i < 60; ++i) q = twice(q);
    std::vector<std::int32_t> read;
    for (const std::int32_t x : q) read.push_back(x);
    EXPECT_SAME_ROWS(read, rows);
    EXPECT_SAME_ROWS(q.to_vector(), rows);
    EXPECT_EQ(q.count(), 3);
    EXPECT_TRUE(q.any());
  };
  check("zip", [](const some& q) { return q.zip(q, [](auto x, auto) { return x; }); });
  check("zip of filters", [](const some& q) {
    const auto all = [](auto x) { return x > 0; };
    return q.where(all).zip(q.where(all), [](auto x, auto y) { return x + y - x; });
  });
  check("union_with", [](const some& q) { return q.union_with(q); });
  check("intersect", [](const some& q) { return q.intersect(q); });
  check("semi_join", [itself](const some& q) { return q.semi_join(q, itself, itself); });
}

CONFORMS(long_chains, verbs_made_of_others, "slice", "shuffle", "of_type", "over", "group_by.top", "asof_join", "join_where", "zip",
         "hash_partitioned_by", "range_partitioned_by", "apply") {
  using keys = query::Query<std::int32_t>;
  const std::vector<std::int32_t> others{1, 2, 3, 5, 8};
  const auto itself = [](auto k) { return k; };
  const auto parity = [](auto k) { return k % 2; };
  const auto left = [](auto a, auto) { return a; };
  const auto copied = [](std::span<const std::int32_t> r) { return std::vector<std::int32_t>(r.begin(), r.end()); };
  const keys same = source(e, others);
  const std::vector<std::pair<const char*, std::function<keys(const keys&)>>> steps = {
      {"slice", [=](const keys& q) -> keys { return q.append(7).slice(0, -1); }},
      {"shuffle", [=](const keys& q) -> keys { return q.shuffle(3); }},
      {"of_type", [=](const keys& q) -> keys {
        return q.select([](const std::int32_t& k) { return std::variant<std::string, std::int32_t>(k); }).of_type<std::int32_t>();
      }},
      {"over", [=](const keys& q) -> keys {
        return q.over(parity).order_by(itself).select([](auto k, auto w) { return k + static_cast<std::int32_t>(w.rank()) * 0; });
      }},
      {"group_by.top", [=](const keys& q) -> keys { return q.group_by(parity).top(5, itself); }},
      {"asof_join", [=](const keys& q) -> keys { return q.asof_join(same, itself, itself, left); }},
      {"asof_join with keys", [=](const keys& q) -> keys { return same.asof_join(q, parity, parity, itself, itself, left); }},
      {"join_where", [=](const keys& q) -> keys { return q.join_where(same, [](auto a, auto b) { return a == b; }, left); }},
      {"zip", [=](const keys& q) -> keys { return same.zip(q, same, [](auto, auto b, auto) { return b; }); }},
      {"hash_partitioned_by", [=](const keys& q) -> keys { return q.hash_partitioned_by(itself, 3).apply(copied); }},
      {"range_partitioned_by", [=](const keys& q) -> keys { return q.range_partitioned_by(itself, 3).apply(copied); }}};
  const auto check = [&](const keys& q) {
    EXPECT_SAME_ROWS(q.to_vector(), others);
    EXPECT_EQ(q.count(), 5);
  };
  keys in_turn = same;
  for (const auto& [name, step] : steps) {
    SCOPED_TRACE(name);
    keys q = same;
    for (int i = 0; i < 40; ++i) q = step(q);
    check(q);
    for (int i = 0; i < 4; ++i) in_turn = step(in_turn);
  }
  check(in_turn);
}

}  // namespace
}  // namespace conformance
