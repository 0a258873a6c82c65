// Partitions by an equality and a hash, or an order, of the user's; values counted by the user's idea of distinct ones.
#include <map>
#include <set>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

template <class Q> auto parts_of(const Q& q) {
  using T = typename Q::row;
  return q.apply([](std::span<const T> rows) { return std::vector<std::vector<T>>{{rows.begin(), rows.end()}}; }).to_vector();
}
template <class T> std::vector<T> all_of(const std::vector<std::vector<T>>& parts) {
  std::vector<T> rows;
  for (const auto& p : parts) rows.insert(rows.end(), p.begin(), p.end());
  return rows;
}

// Numbers with the same remainder are equal; nulls are a remainder of their own.
int rest(const std::optional<std::int32_t>& x) { return x ? std::abs(*x % 5) : 5; }
const auto same_rest = [](const std::optional<std::int32_t>& a, const std::optional<std::int32_t>& b) { return rest(a) == rest(b); };
const auto rest_hash = [](const std::optional<std::int32_t>& a) { return static_cast<std::size_t>(rest(a)); };
const auto lot_of = [](const trade& t) { return t.lot; };

// Each remainder has one partition.
std::map<int, std::size_t> homes_of(const std::vector<std::vector<trade>>& parts) {
  std::map<int, std::size_t> home;
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const trade& t : parts[p]) EXPECT_EQ(home.try_emplace(rest(t.lot), p).first->second, p);
  return home;
}
// Where each has its rows in source order.
void check_homes(const std::vector<trade>& rows, const std::vector<std::vector<trade>>& parts) {
  const std::map<int, std::size_t> home = homes_of(parts);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].empty()) continue;
    const auto here = [&](const trade& t) {
      const auto at = home.find(rest(t.lot));
      return at != home.end() && at->second == p;
    };
    EXPECT_ROWS(parts[p], kept(rows, here));
  }
  EXPECT_EQ(all_of(parts).size(), rows.size());
}

CONFORMS(own_partitions, keys_that_the_user_calls_equal_share_a_partition, "hash_partitioned_by", "apply") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    check_homes(d.rows, parts_of(q.hash_partitioned_by(lot_of, same_rest, rest_hash)));
    for (const std::size_t n : {1u, 3u, 64u}) {
      const auto parts = parts_of(q.hash_partitioned_by(lot_of, n, same_rest, rest_hash));
      EXPECT_LE(parts.size(), n);
      check_homes(d.rows, parts);
    }
  }
}

// A key that nobody has described, and a partition by the library's equality below: neither takes the other's place.
struct version {
  int major = 0, minor = 0;
};

CONFORMS(own_partitions, no_partition_is_inferred_from_another_equality, "hash_partitioned_by", "explain") {
  const auto key = [](auto t) { return t.lot; };
  const auto q = source(e, few_trades()).hash_partitioned_by(key, 8).hash_partitioned_by(key, 8, same_rest, rest_hash);
  EXPECT_EQ(q.explain().find("left out"), std::string::npos) << q.explain();
  EXPECT_NE(q.explain().find("by the user's own equality and hash"), std::string::npos) << q.explain();
  EXPECT_GT(homes_of(parts_of(q)).size(), 3u);
  const auto twice = source(e, few_trades()).hash_partitioned_by(key, 8, same_rest, rest_hash).hash_partitioned_by(key, 8);
  EXPECT_EQ(twice.explain().find("left out"), std::string::npos) << twice.explain();
  const auto parts = source(e, std::vector<int>{10, 21, 12, 33, 24})
                         .hash_partitioned_by([](int x) { return version{x / 10, x % 10}; }, 4,
                                              [](const version& a, const version& b) { return a.major == b.major; },
                                              [](const version& a) { return static_cast<std::size_t>(a.major); })
                         .apply([](std::span<const int> r) { return std::vector<std::vector<int>>{{r.begin(), r.end()}}; })
                         .to_vector();
  std::map<int, std::size_t> home;
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const int x : parts[p]) EXPECT_EQ(home.try_emplace(x / 10, p).first->second, p);
  EXPECT_EQ(home.size(), 3u);
}

CONFORMS(own_partitions, ranges_follow_the_users_order, "range_partitioned_by", "apply") {
  const auto later = [](std::int32_t a, std::int32_t b) { return b / 2 < a / 2; };  // falling, and pairs of keys tie
  const auto key = [](const tick& t) { return t.key; };
  auto sets = small_ticks();  // comparisons are slow: one large set will do
  sets.push_back({"many", many_ticks()});
  for (const auto& d : sets) {
    SCOPED_TRACE(d.name);
    std::vector<std::vector<std::vector<tick>>> all = {parts_of(source(e, d.rows).range_partitioned_by(key, later))};
    for (const std::size_t n : {1u, 5u}) {
      all.push_back(parts_of(source(e, d.rows).range_partitioned_by(key, n, later)));
      EXPECT_LE(all.back().size(), n);
    }
    for (const auto& parts : all) {
      std::optional<std::int32_t> border;  // the least half of a key so far
      for (const auto& p : parts) {
        if (p.empty()) continue;
        EXPECT_TRUE(std::is_sorted(p.begin(), p.end(), [](const tick& a, const tick& b) { return a.id < b.id; }));
        const auto half = [](const tick& t) { return t.key / 2; };
        const auto [least, most] = std::minmax_element(p.begin(), p.end(), [&](const tick& a, const tick& b) { return half(a) < half(b); });
        if (border) {
          EXPECT_GT(*border, half(*most));
        }
        border = half(*least);
      }
      EXPECT_EQ(all_of(parts).size(), d.rows.size());
    }
  }
}

CONFORMS(own_partitions, an_order_never_sees_a_null, "range_partitioned_by") {
  const auto falling = [](std::int32_t a, std::int32_t b) { return b < a; };
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto parts = parts_of(source(e, d.rows).range_partitioned_by(lot_of, 4, falling));
    const auto null = [](const trade& t) { return !t.lot; };
    bool nulls = false;  // they are last: behind a partition that holds one there are only nulls
    for (const auto& p : parts) {
      EXPECT_TRUE(!nulls || std::all_of(p.begin(), p.end(), null));
      nulls = nulls || std::any_of(p.begin(), p.end(), null);
    }
  }
}

// ---------------------------------------------------------------- count_distinct

CONFORMS(own_distinct_counts, values_that_the_user_calls_equal_count_once, "group_by.select", "reduce") {
  const auto same = [](std::int32_t a, std::int32_t b) { return std::abs(a % 5) == std::abs(b % 5); };
  const auto hash = [](std::int32_t a) { return static_cast<std::size_t>(std::abs(a % 5)); };
  const auto lot = [](const trade& t) { return t.lot; };
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::tuple<std::int32_t, std::int64_t>> wanted;
    const auto distinct = [](const std::vector<trade>& rows) {
      std::set<int> seen;
      for (const trade& t : rows)
        if (t.lot) seen.insert(rest(t.lot));  // nulls are passed over, as ever
      return std::ssize(seen);
    };
    for (const auto& [k, rows] : grouped(d.rows, [](const trade& t) { return t.key; })) wanted.emplace_back(k, distinct(rows));
    const auto groups = source(e, d.rows).group_by([](auto t) { return t.key; });
    EXPECT_ROWS(groups.select([=](auto g) { return std::tuple(g.key(), g.count_distinct(lot, same, hash)); }).as_ordered().to_vector(),
                wanted);
    EXPECT_ROWS(groups.aggregate(query::aggregates::count_distinct(lot, same, hash)).as_ordered().to_vector(), wanted);
    EXPECT_EQ(source(e, d.rows).reduce([=](auto g) { return g.count_distinct(lot, same, hash); }), distinct(d.rows));
  }
  // Many parts of rows, whose sets are merged.
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::set<std::int64_t> seen;
    for (const tick& t : d.rows) seen.insert(std::abs(t.amount % 100));
    const auto same_hundredth = [](std::int64_t a, std::int64_t b) { return std::abs(a % 100) == std::abs(b % 100); };
    const auto hundredth = [](std::int64_t a) { return static_cast<std::size_t>(std::abs(a % 100)); };
    EXPECT_EQ(
        source(e, d.rows).reduce([=](auto g) { return g.count_distinct([](auto t) { return t.amount; }, same_hundredth, hundredth); }),
        std::ssize(seen));
  }
}

}  // namespace
}  // namespace conformance
