// Exchanges that are not needed, as rows lie by the hash of their key already: which are left out, which are not, and the same answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace rows_that_lie_right_test {

struct row {
  std::int64_t id;
  std::int32_t a, b;
  double x;
  bool operator==(const row&) const = default;
  auto operator<=>(const row&) const = default;
};
QUERY_RECORD(row, id, a, b, x);
struct total {
  std::int32_t a, b;
  std::int64_t sum;
  auto operator<=>(const total&) const = default;
};
QUERY_RECORD(total, a, b, sum);

std::vector<row> rows_of(std::int64_t n, std::int32_t keys) {
  std::vector<row> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::int32_t>(i * 7919 % 10'007);
    rows.push_back({i, k % keys, k % 11, static_cast<double>(k % 13)});
  }
  return rows;
}
const std::vector<row> left = rows_of(3'000, 40), right = rows_of(500, 60);

struct session {
  explicit session(int partitions) : of({.threads = 2, .gpu = query::gpu_use::off}) {
    of.state()->partitions = partitions;
    of.state()->most_broadcast = 0;
  }
  query::Session of;
};
std::size_t times(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}

// A query of a session: the same rows in one partition and in several, and so many exchanges by hash in four.
template <class Query> void expect_exchanges(std::size_t wanted, const Query& query) {
  const session one(1);
  auto rows = query(one.of).to_vector();
  std::ranges::sort(rows);
  EXPECT_FALSE(rows.empty());
  for (const int parts : {2, 4, 5}) {
    const session some(parts);
    auto got = query(some.of).to_vector();
    std::ranges::sort(got);
    EXPECT_EQ(got, rows) << parts << " partitions";
  }
  const session four(4);
  const std::string plan = query(four.of).explain();
  EXPECT_EQ(times(plan, "exchange by hash") + times(plan, "exchange of groups by hash"), wanted) << plan;
}

const auto by_a = [](auto r) { return r.a; };
const auto by_b = [](auto r) { return r.b; };
const auto sums = [](auto g) { return query::make<total>(g.key(), 0, g.sum([](auto r) { return r.id; })); };
// Of totals.
const auto of_totals = [](auto g) { return query::make<total>(g.key(), 1, g.max([](auto t) { return t.sum; })); };

TEST(rows_that_lie_right, groups_of_groups_of_the_same_key) {
  expect_exchanges(1, [](const auto& s) { return query::from(left).in(s).group_by(by_a).select(sums).group_by(by_a).select(of_totals); });
  expect_exchanges(2, [](const auto& s) { return query::from(left).in(s).group_by(by_a).select(sums).group_by(by_b).select(of_totals); });
}
TEST(rows_that_lie_right, distinct_after_groups) {
  const auto groups = [](const auto& s) {
    return query::from(left).in(s).group_by([](auto r) { return std::pair(r.a, r.b); }).select([](auto g) {
      return query::make<total>(g.key().first, g.key().second, g.count());
    });
  };
  expect_exchanges(1, [&](const auto& s) { return groups(s).distinct_by([](auto t) { return std::pair(t.a, t.b); }).select(by_a); });
  expect_exchanges(1, [&](const auto& s) { return groups(s).distinct_by([](auto t) { return std::tuple(t.sum, std::pair(t.a, t.b)); }); });
  expect_exchanges(2, [&](const auto& s) { return groups(s).distinct_by(by_a).select(by_a); });
  expect_exchanges(2, [&](const auto& s) { return groups(s).distinct_by([](auto t) { return std::pair(t.b, t.a); }).select(by_a); });
}
TEST(rows_that_lie_right, a_key_that_holds_the_key_of_the_rows) {
  expect_exchanges(1, [](const auto& s) {
    const auto groups = query::from(left).in(s).group_by(by_a).select(sums);
    return groups.group_by([](auto t) { return std::pair(t.sum % 2, t.a); }).select([](auto g) {
      return query::make<total>(g.key().second, 0, g.count());
    });
  });
  expect_exchanges(1, [](const auto& s) {  // whole rows
    return query::from(left).in(s).distinct_by(by_a).select([](auto r) { return query::make<total>(r.a, r.a, 1); }).distinct();
  });
}
TEST(rows_that_lie_right, through_tests_and_renamed_fields) {
  const auto swapped = [](auto t) { return query::make<total>(t.b, t.a, t.sum); };
  expect_exchanges(1, [&](const auto& s) {
    const auto large = query::from(left).in(s).group_by(by_a).select(sums).where([](auto t) { return t.sum > 5; });
    return large.select(swapped).group_by(by_b).select(of_totals);
  });
  expect_exchanges(2, [&](const auto& s) {
    return query::from(left).in(s).group_by(by_a).select(sums).select(swapped).group_by(by_a).select(of_totals);
  });
}
TEST(rows_that_lie_right, joins_of_sides_with_the_same_key) {
  const auto both = [](auto l, auto r) { return query::make<total>(l.a, r.b, l.id + r.id); };
  // Both sides go by hash; what comes after is right.
  expect_exchanges(2, [&](const auto& s) {
    return query::from(left).in(s).join(query::from(right), by_a, by_a, both).group_by(by_a).select(of_totals);
  });
  expect_exchanges(3, [&](const auto& s) {
    return query::from(left).in(s).join(query::from(right), by_a, by_a, both).group_by(by_b).select(of_totals);
  });
  // The key of the other side is that of this one.
  expect_exchanges(2, [&](const auto& s) {
    return query::from(left)
        .in(s)
        .join(query::from(right), by_a, by_a, [](auto l, auto r) { return query::make<total>(r.a, r.b, l.id); })
        .group_by(by_a)
        .select(of_totals);
  });
  // Two joins on one key: one side is there.
  expect_exchanges(3, [&](const auto& s) {
    return query::from(left).in(s).join(query::from(right), by_a, by_a, both).join(query::from(right), by_a, by_a, [](auto t, auto r) {
      return query::make<total>(t.a, r.b, t.sum);
    });
  });
  // Groups of both sides by the key that they are joined on.
  expect_exchanges(2, [&](const auto& s) {
    const auto groups = [&](const auto& from) { return query::from(from).in(s).group_by(by_a).select(sums); };
    return groups(left).join(groups(right), by_a, by_a, [](auto l, auto r) { return query::make<total>(l.a, r.a, l.sum - r.sum); });
  });
  expect_exchanges(2, [&](const auto& s) {
    const auto groups = [&](const auto& from) { return query::from(from).in(s).group_by(by_a).select(sums); };
    return groups(left).full_join(groups(right), by_a, by_a, [](auto l, auto r) {
      return query::make<total>(l ? l->a : 0, r ? r->a : 0, l ? l->sum : r->sum);
    });
  });
  expect_exchanges(2, [&](const auto& s) {
    return query::from(left).in(s).semi_join(query::from(right).where([](auto r) { return r.b < 3; }), by_a, by_a).distinct_by(by_a).select(
        by_a);
  });
}
TEST(rows_that_lie_right, sets_of_rows_by_the_same_key) {
  expect_exchanges(2, [](const auto& s) {
    const auto groups = [&](const auto& from) { return query::from(from).in(s).group_by(by_a).select(sums); };
    return groups(left).distinct_by(by_a).union_with_by(groups(right), by_a).select(by_a);
  });
}
TEST(rows_that_lie_right, computed_keys) {
  const auto by_rest = [](auto r) { return r.id % 10; };
  expect_exchanges(2, [&](const auto& s) {
    return query::from(left)
        .in(s)
        .join(query::from(right), by_rest, by_rest, [](auto l, auto) { return l; })
        .group_by([](auto r) { return r.id % 10; })
        .select([](auto g) { return query::make<total>(0, 0, g.key() * 1'000'000 + g.count()); });
  });
  expect_exchanges(3, [&](const auto& s) {  // another rest
    return query::from(left)
        .in(s)
        .join(query::from(right), by_rest, by_rest, [](auto l, auto) { return l; })
        .group_by([](auto r) { return r.id % 5; })
        .select([](auto g) { return query::make<total>(0, 0, g.key() * 1'000'000 + g.count()); });
  });
  // Floats may be rounded in two ways.
  const auto by_x = [](auto r) { return r.x * 1.1 + 3; };
  expect_exchanges(3, [&](const auto& s) {
    return query::from(left)
        .in(s)
        .join(query::from(right), by_x, by_x, [](auto l, auto) { return l; })
        .group_by(by_x)
        .select([](auto g) { return query::make<total>(0, 0, g.count()); });
  });
}
TEST(rows_that_lie_right, functions_that_do_not_trace_are_not_believed) {
  const auto opaque = query::opaque([](const auto& t) { return t.a; });
  expect_exchanges(2, [&](const auto& s) { return query::from(left).in(s).group_by(by_a).select(sums).distinct_by(opaque); });
  const auto near = [](std::int32_t a, std::int32_t b) { return a / 4 == b / 4; };
  const auto hash = [](std::int32_t a) { return static_cast<std::size_t>(a / 4); };
  expect_exchanges(2, [&](const auto& s) {
    return query::from(left).in(s).group_by(by_a).select(sums).group_by(by_a, near, hash).select([](auto g) { return g.count(); });
  });
}
TEST(rows_that_lie_right, constants_of_loops_may_change) {
  const session one(1), four(4);
  const auto run = [](const session& s, bool constant) {
    const auto all = query::from(left).in(s.of).select([](auto r) { return query::make<total>(r.a, r.b, r.id); });
    const auto round = [&](query::Query<total> now) {
      const auto groups = now.group_by([](auto t) { return t.a % 7; }).select([](auto g) {
        return query::make<total>(g.key(), 0, g.max([](auto t) { return t.sum; }));
      });
      if (constant) return query::Query<total>(groups.distinct_by([](auto t) { return t.a * 1; }));
      return query::Query<total>(groups.distinct_by(by_a));
    };
    auto rows = all.do_while(round, query::times(2)).to_vector();
    std::ranges::sort(rows);
    return rows;
  };
  for (const bool constant : {false, true}) EXPECT_EQ(run(four, constant), run(one, constant));
}
TEST(rows_that_lie_right, explain_says_so) {
  const session four(4);
  const auto q = query::from(left).in(four.of).group_by(by_a).select(sums).group_by(by_a).select(of_totals);
  EXPECT_EQ(times(q.explain(), "group_by: no exchange, rows lie by the hash of its key already"), 1u) << q.explain();
}

}  // namespace rows_that_lie_right_test
