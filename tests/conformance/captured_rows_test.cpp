// Containers that functions capture by value: queries made inside the functions refer to the copies, which live as long as the result.
#include <array>
#include <memory>
#include <set>
#include <span>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct CapturedEdge {
  std::int32_t from, to;
};
QUERY_RECORD(CapturedEdge, from, to);
using edges = std::vector<CapturedEdge>;
using edge_query = query::Query<CapturedEdge>;

constexpr auto begin_of = [](auto e) { return e.from; };
constexpr auto end_of = [](auto e) { return e.to; };
constexpr auto one_further = [](edge_query p) { return p.select([](auto x) { return query::make<CapturedEdge>(x.from + 1, x.to); }); };
constexpr auto through = [](auto a, auto b) { return query::make<CapturedEdge>(a.from, b.to); };

edges a_path(std::int32_t n) {
  edges all;
  for (std::int32_t i = 0; i < n; ++i) all.push_back({i, i + 1});
  return all;
}
// All (i, j) with i < j.
std::size_t pairs(std::int32_t n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n + 1) / 2; }

// Writes over what memory the closures had on heap and stack.
std::size_t overwrite() {
  volatile char on_stack[1 << 14];
  for (std::size_t i = 0; i < sizeof on_stack; ++i) on_stack[i] = static_cast<char>(0x5a);
  std::vector<edges> on_heap;
  for (std::int32_t n = 1; n < 64; ++n) on_heap.emplace_back(static_cast<std::size_t>(n), CapturedEdge{-7, -7});
  return on_heap.size() + static_cast<std::size_t>(on_stack[77]);
}

CONFORMS(captured_rows, a_loop_joins_rows_that_its_body_captured, "do_while", "join", "union_with", "times") {
  const edges rows = a_path(12);
  const auto q = [&] {  // the closure ends before the query runs
    const edges copy = rows;
    return source(e, rows).do_while([copy](edge_query p) { return p.union_with(p.join(copy, end_of, begin_of, through)); },
                                    query::times(12));
  }();
  EXPECT_GT(overwrite(), 0u);
  EXPECT_EQ(q.to_vector().size(), pairs(12));
  const auto again = q.where([](auto x) { return x.from == 0; });  // longer than the first query
  EXPECT_EQ(again.count(), 12);
}

CONFORMS(captured_rows, a_loop_reads_captured_rows_in_other_verbs, "do_while", "concat", "except", "from") {
  const edges rows = a_path(5);
  const auto q = [&] {
    const edges copy = a_path(3);
    const std::array<CapturedEdge, 2> more{{{50, 51}, {51, 52}}};
    return source(e, rows).do_while([copy, more](edge_query p) { return p.except(query::from(copy)).concat(more); }, query::times(2));
  }();
  EXPECT_GT(overwrite(), 0u);
  EXPECT_ROWS(q.as_ordered().to_vector(), (edges{{3, 4}, {4, 5}, {50, 51}, {51, 52}, {50, 51}, {51, 52}}));
}

CONFORMS(captured_rows, a_condition_reads_rows_that_it_captured, "do_while", "value_of", "join") {
  const edges rows{{0, 0}};
  const auto q = [&] {
    const edges stops{{7, 0}};
    return source(e, rows).do_while(
        one_further, [stops](auto, auto next) { return query::value_of(next.join(stops, begin_of, begin_of)).count() == 0; }, 50);
  }();
  EXPECT_GT(overwrite(), 0u);
  EXPECT_ROWS(q.to_vector(), (edges{{7, 0}}));
}

CONFORMS(captured_rows, a_host_condition_keeps_what_it_captured, "do_while") {
  const edges rows{{0, 0}};
  const auto q = [&] {
    const std::set<std::int32_t> stops{9};
    return source(e, rows).do_while(one_further, [stops](std::span<const CapturedEdge>, std::span<const CapturedEdge> next) {
      return !stops.contains(next[0].from);
    });
  }();
  EXPECT_GT(overwrite(), 0u);
  EXPECT_ROWS(q.to_vector(), (edges{{9, 0}}));
}

CONFORMS(captured_rows, branches_of_a_fork_read_rows_that_they_captured, "fork", "join", "union_with") {
  const edges rows = a_path(6);
  const auto [joined, united] = [&] {
    const edges copy = rows;
    return source(e, rows).fork([copy](auto shared) { return shared.join(copy, end_of, begin_of, through); },
                                [copy = edges{{9, 9}}](auto shared) { return shared.union_with(copy); });
  }();
  EXPECT_GT(overwrite(), 0u);
  EXPECT_EQ(joined.count(), 5);
  EXPECT_EQ(united.count(), 7);
}

edge_query loops_back(edge_query rows) { return rows.select([](auto x) { return query::make<CapturedEdge>(x.to, x.from); }); }

CONFORMS(captured_rows, a_fork_takes_functions_of_all_kinds, "fork") {
  const edges rows = a_path(2);
  auto owner = std::make_unique<edges>(a_path(1));
  const auto [a, b] = source(e, rows).fork(loops_back, [own = std::move(owner)](auto shared) { return shared.concat(*own); });
  EXPECT_EQ(a.count(), 2);
  EXPECT_EQ(b.count(), 3);
}

CONFORMS(captured_rows, functions_of_rows_read_rows_that_they_captured, "select", "where", "from", "any", "count") {
  const edges rows = a_path(6);
  const auto [counts, some] = [&] {
    const edges copy = a_path(4);
    return std::pair(source(e, rows).select([copy](auto r) {
      return query::from(copy).where([=](auto x) { return x.from <= r.from; }).count();
    }), source(e, rows).where([copy](auto r) { return query::from(copy).any([=](auto x) { return x.to == r.from; }); }));
  }();
  EXPECT_GT(overwrite(), 0u);
  EXPECT_ROWS(counts.to_vector(), (std::vector<std::int64_t>{1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(some.count(), 4);
}

}  // namespace
}  // namespace conformance
