// Chains of up to a thousand verbs on every engine, on a small stack: what long_plans_test.cpp runs on one engine with more verbs. Here
// each verb may be a stage of its own with an exchange between processes. Rows stay the same, in some order, unless a test says otherwise.
//
// Not on the GPU: each chain would be kernels of its own, which take minutes to compile. QUERY_TEST_LONGER_CHAINS=10 takes ten times as
// many verbs.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "sanitized.hpp"
#include "small_stack.hpp"

namespace conformance {
namespace {

using rows = query::Query<std::int32_t>;
using numbers = std::vector<std::int32_t>;

const numbers three{3, 1, 2}, seven{7};

int times_as_many() {
  const char* const times = std::getenv("QUERY_TEST_LONGER_CHAINS");
  return times ? std::max(1, std::atoi(times)) : 1;
}
// Verbs that planning joins, or that run as one pipeline; verbs that are a vertex each; those that are a stage of the cluster graph, too.
int verbs(int n) { return std::max(10, n * times_as_many() / (query::tests::sanitized ? 10 : 1)); }
int joined() { return verbs(1'000); }
int vertices(const engine_config& e) { return verbs(in_processes(e) ? 40 : in_partitions(e) ? 100 : 400); }

using step = std::function<rows(const rows&, int)>;
struct chain {
  const char* name;
  step more;
};

// Reads the chain in the ways that there are: by rows, as a fold, row by row, as text.
numbers read(const engine_config& e, const step& more, int n) {
  numbers all;
  query::tests::on_small_stack([&] {
    rows q = source(e, three);
    for (int i = 0; i < n; ++i) q = more(q, i);
    all = q.to_vector();
    EXPECT_EQ(q.count(), std::ssize(all));
    numbers one_by_one;
    for (const auto x : q) one_by_one.push_back(x);
    EXPECT_SAME_ROWS(one_by_one, all);
    EXPECT_FALSE(q.explain().empty());
  });
  return all;
}
void keep_three(const engine_config& e, const std::vector<chain>& chains, int n) {
  if (e.accelerate) return;
  for (const chain& c : chains) {
    SCOPED_TRACE(c.name);
    EXPECT_SAME_ROWS(read(e, c.more, n), three);
  }
}

constexpr auto itself = [](auto x) { return x; };
constexpr auto parity = [](auto x) { return x % 2; };
constexpr auto left = [](auto x, auto) { return x; };
constexpr auto right = [](auto, auto x) { return x; };

CONFORMS(longer_chains, of_concatenations, "append", "prepend", "concat", "union_with") {
  if (e.accelerate) return;
  const int n = joined();
  numbers appended = three, prepended, both(static_cast<std::size_t>(n / 2), 7);
  for (std::int32_t i = 0; i < n; ++i) appended.push_back(i);
  for (std::int32_t i = n; i-- > 0;) prepended.push_back(i);
  prepended.insert(prepended.end(), three.begin(), three.end());
  both.insert(both.end(), three.begin(), three.end());
  both.resize(static_cast<std::size_t>(n) + 3, 7);
  EXPECT_ROWS(read(e, [](const rows& q, int i) -> rows { return q.append(i); }, n), appended);
  EXPECT_ROWS(read(e, [](const rows& q, int i) -> rows { return q.prepend(i); }, n), prepended);
  const auto sevens = source(e, seven);
  EXPECT_ROWS(read(e, [&](const rows& q, int i) -> rows { return i % 2 ? rows(q.concat(sevens)) : rows(sevens.concat(q)); }, n), both);
  EXPECT_SAME_ROWS(read(e, [&](const rows& q, int i) -> rows { return q.union_with(numbers{i % 10}); }, n),
                   (numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

CONFORMS(longer_chains, of_row_wise_verbs, "where", "select", "take", "skip") {
  if (e.accelerate) return;
  const int n = joined();
  EXPECT_ROWS(read(e, [](const rows& q, int i) -> rows { return q.where([i](auto x) { return x != i + 3; }); }, n), (numbers{1, 2}));
  EXPECT_ROWS(read(e, [](const rows& q, int i) -> rows { return q.where([i](const std::int32_t& x) { return x != i + 3; }); }, n),
              (numbers{1, 2}));
  EXPECT_ROWS(read(e, [](const rows& q, int) -> rows { return q.select([](auto x) { return x + 1; }); }, n),
              (numbers{3 + n, 1 + n, 2 + n}));
  EXPECT_ROWS(read(e, [](const rows& q, int) -> rows { return q.select([](const std::int32_t& x) { return x + 1; }); }, n),
              (numbers{3 + n, 1 + n, 2 + n}));
  EXPECT_ROWS(read(e, [](const rows& q, int i) -> rows { return i % 2 ? rows(q.take(2)) : rows(q.skip(0)); }, n / 4), (numbers{3, 1}));
}

CONFORMS(longer_chains, of_verbs_that_one_does, "distinct", "order_by", "then_by", "reverse", "cached", "stop_on", "on_progress") {
  std::stop_source never;
  keep_three(e,
             {{"distinct", [](const rows& q, int) -> rows { return q.distinct(); }},
              {"order_by", [](const rows& q, int) -> rows { return q.order_by(itself); }},
              {"reverse", [](const rows& q, int) -> rows { return q.reverse(); }},
              {"cached", [](const rows& q, int) -> rows { return q.cached(); }},
              {"stop_on", [&](const rows& q, int) -> rows { return q.stop_on(never.get_token()); }},
              {"on_progress", [](const rows& q, int) -> rows { return q.on_progress([](double) {}); }}},
             joined());
  if (e.accelerate) return;
  query::tests::on_small_stack([&] {
    auto q = source(e, three).order_by([](auto x) { return x * 0; });
    for (int i = 0; i < joined(); ++i) q = q.then_by([i](auto x) { return x / (i % 4 + 1); });
    EXPECT_ROWS(q.to_vector(), (numbers{1, 2, 3}));
    EXPECT_EQ(q.count(), 3);
  });
}

CONFORMS(longer_chains, of_sorts_and_groups, "order_by", "reverse", "group_by", "group_by.groups", "top", "distinct_by") {
  keep_three(e,
             {{"order_by between tests", [](const rows& q, int i) -> rows {
                return i % 2 ? rows(q.order_by(parity)) : rows(q.where([](auto x) { return x > 0; }));
              }},
              {"reverse between tests", [](const rows& q, int i) -> rows {
                return i % 2 ? rows(q.reverse()) : rows(q.where([](auto x) { return x > 0; }));
              }},
              {"group_by", [](const rows& q, int) -> rows { return q.group_by(itself).select([](auto g) { return g.key(); }); }},
              {"groups", [](const rows& q, int) -> rows {
                using group = query::Group<std::int32_t, std::int32_t>;
                return q.group_by(itself).groups().select([](const group& g) { return g.key(); });
              }},
              {"top", [](const rows& q, int) -> rows { return q.top(3, itself); }},
              {"distinct_by", [](const rows& q, int) -> rows { return q.distinct_by(itself).select(itself); }}},
             vertices(e));
}

CONFORMS(longer_chains, of_joins, "join", "left_join", "right_join", "full_join", "semi_join", "group_join", "join_where", "asof_join") {
  const rows r = source(e, three);
  const auto equal = [](auto a, auto b) { return a == b; };
  keep_three(e,
             {{"join", [=](const rows& q, int) -> rows { return q.join(r, itself, itself, left); }},
              {"joined with the chain", [=](const rows& q, int i) -> rows {
                switch (i % 6) {
                  case 0: return r.left_join(q, itself, itself, left);
                  case 1: return r.right_join(q, itself, itself, right);
                  case 2: return r.full_join(q, itself, itself, [](auto, auto x) { return x.value_or(0); });
                  case 3: return r.semi_join(q, itself, itself);
                  case 4: return r.group_join(q, itself, itself, [](auto x, const auto&) { return x; });
                  default: return r.join(q, itself, itself, left);
                }
              }},
              {"join_where", [=](const rows& q, int) -> rows { return q.join_where(r, equal, left); }},
              {"join_where with the chain", [=](const rows& q, int) -> rows { return r.join_where(q, equal, left); }},
              {"asof_join", [=](const rows& q, int) -> rows { return q.asof_join(r, itself, itself, left); }},
              {"asof_join with the chain", [=](const rows& q, int) -> rows { return r.asof_join(q, itself, itself, left); }}},
             vertices(e) / 4);
}

CONFORMS(longer_chains, of_windows_and_partitions, "over", "group_by.top", "zip", "slice", "shuffle", "of_type", "apply", "apply_all",
         "hash_partitioned_by", "range_partitioned_by") {
  const rows r = source(e, three);
  const auto copied = [](std::span<const std::int32_t> s) { return numbers(s.begin(), s.end()); };
  keep_three(e,
             {{"over", [](const rows& q, int) -> rows {
                return q.over(parity).order_by(itself).select([](auto x, auto w) { return x + static_cast<std::int32_t>(w.rank()) * 0; });
              }},
              {"over of all rows", [](const rows& q, int) -> rows { return q.over().select(left); }},
              {"group_by.top", [](const rows& q, int) -> rows { return q.group_by(parity).top(3, itself); }},
              {"zip", [=](const rows& q, int) -> rows { return q.zip(r, left); }},
              {"zip of three", [=](const rows& q, int) -> rows { return r.zip(q, r, [](auto, auto b, auto) { return b; }); }},
              {"slice", [](const rows& q, int) -> rows { return q.slice(-3); }},
              {"shuffle", [](const rows& q, int i) -> rows { return q.shuffle(static_cast<std::uint64_t>(i)); }},
              {"of_type", [](const rows& q, int) -> rows {
                return q.select([](const std::int32_t& x) { return std::variant<std::int32_t, double>(x); }).of_type<std::int32_t>();
              }},
              {"apply_all", [=](const rows& q, int) -> rows { return q.apply_all(copied); }},
              {"hash_partitioned_by", [=](const rows& q, int) -> rows { return q.hash_partitioned_by(itself, 2).apply(copied); }},
              {"range_partitioned_by", [=](const rows& q, int) -> rows { return q.range_partitioned_by(itself, 2).apply(copied); }}},
             vertices(e) / 4);
}

CONFORMS(longer_chains, of_loops_and_captured_queries, "do_while", "broadcast", "cached") {
  const rows r = source(e, three);
  keep_three(e,
             {{"do_while", [](const rows& q, int) -> rows {
                return q.do_while([](auto now) { return now.select([](auto x) { return x + 0; }); }, query::times(1));
              }},
              {"broadcast", [=](const rows& q, int) -> rows {
                return r.where([before = query::broadcast(q)](auto x) { return before.any(x, [](auto x, auto y) { return x == y; }); });
              }},
              {"cached between", [](const rows& q, int) -> rows { return q.select([](auto x) { return x * 1; }).cached(); }}},
             vertices(e) / 4);
}

}  // namespace
}  // namespace conformance
