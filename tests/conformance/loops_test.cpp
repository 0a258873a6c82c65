// do_while: fixed rounds, conditions on values and on the host, nested loops, broadcast in the body, invariants computed once.
#include <atomic>

#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using numbers = std::vector<std::int64_t>;
using number_query = query::Query<std::int64_t>;

numbers some_numbers(std::size_t n) {
  numbers v;
  for (std::size_t i = 0; i < n; ++i) v.push_back(static_cast<std::int64_t>(i * 7919 % 1000));
  return v;
}

CONFORMS(loops, a_fixed_number_of_rounds, "do_while", "times") {
  for (const std::size_t n : {0u, 1u, 1025u, 65537u}) {
    for (const std::uint64_t rounds : {1u, 2u, 7u}) {
      SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(rounds) + " rounds");
      numbers wanted = some_numbers(n);
      for (std::uint64_t r = 0; r < rounds; ++r)
        for (auto& x : wanted) x = x * 3 % 1001 + 1;
      const numbers rows = some_numbers(n);
      EXPECT_ROWS(source(e, rows)
                      .do_while([](number_query q) { return q.select([](auto x) { return x * 3 % 1001 + 1; }); }, query::times(rounds))
                      .to_vector(),
                  wanted);
    }
  }
}

CONFORMS(loops, a_value_explains_its_query, "value_of", "explain", "explain_dot", "explain_json") {
  const numbers rows = some_numbers(100);
  const auto f = [](auto x) { return x * 3; };
  const auto sum = query::value_of(source(e, rows)).sum(f);
  EXPECT_NE(sum.explain().find("sum((row * 3))"), std::string::npos) << sum.explain();
  EXPECT_NE(sum.explain().find("machine graph"), std::string::npos) << sum.explain();
  EXPECT_NE((sum > 5).explain().find("operator>"), std::string::npos) << (sum > 5).explain();
  EXPECT_NE(sum.explain_dot().find("digraph"), std::string::npos) << sum.explain_dot();
  EXPECT_NE(sum.explain_json().find("\"machine_graph\": {"), std::string::npos) << sum.explain_json();
}

CONFORMS(loops, the_condition_is_a_value_of_two_rounds, "do_while", "value_of") {
  // Halve until the sum changes by less than 100.
  numbers now = some_numbers(5000), next;
  const auto sum = [](const numbers& v) {
    std::int64_t s = 0;
    for (const auto x : v) s += x;
    return s;
  };
  std::int64_t change;
  const numbers rows = now;
  do {
    next = selected(now, [](std::int64_t x) { return x / 2; });
    change = sum(now) - sum(next);
    now = next;
  } while (change > 100);
  const auto q = source(e, rows).do_while([](number_query x) { return x.select([](auto v) { return v / 2; }); },
                                          [](number_query previous, number_query following) {
                                            return query::value_of(previous).sum() - query::value_of(following).sum() > 100;
                                          });
  EXPECT_ROWS(q.to_vector(), now);
}

CONFORMS(loops, the_condition_may_be_a_host_function, "do_while") {
  const numbers rows = {1, 2, 3};
  int asked = 0;
  const auto q = source(e, rows).do_while([](number_query x) { return x.select([](auto v) { return v * 2; }); },
                                          [&asked](std::span<const std::int64_t> previous, std::span<const std::int64_t> next) {
                                            ++asked;
                                            return previous.size() == next.size() && next[2] < 100;
                                          });
  EXPECT_ROWS(q.to_vector(), numbers({64, 128, 192}));
  EXPECT_EQ(asked, 6);
}

CONFORMS(loops, the_body_runs_at_least_once_and_may_change_the_number_of_rows, "do_while", "union_with", "where") {
  const numbers rows = {1};
  EXPECT_ROWS(source(e, rows)
                  .do_while([](number_query x) { return x.select([](auto v) { return v + 1; }); },
                            [](std::span<const std::int64_t>, std::span<const std::int64_t>) { return false; })
                  .to_vector(),
              numbers({2}));
  // Everything reachable by x -> 2x, x -> x + 3 below 200.
  std::map<std::int64_t, bool> reached{{1, true}};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    const auto copy = reached;
    for (const auto& [x, yes] : copy)
      for (const auto y : {2 * x, x + 3})
        if (y < 200) reached[y] = true;
  }
  numbers wanted;
  for (const auto& [x, yes] : reached) wanted.push_back(x);
  const auto q = source(e, rows).do_while(
      [](number_query x) {
        return x.union_with(x.select([](auto v) { return v * 2; }).where([](auto v) { return v < 200; }))
            .union_with(x.select([](auto v) { return v + 3; }).where([](auto v) { return v < 200; }));
      },
      [](number_query previous, number_query next) { return query::value_of(previous).count() != query::value_of(next).count(); });
  EXPECT_SAME_ROWS(q.to_vector(), wanted);
}

CONFORMS(loops, breakers_and_joins_in_the_body, "do_while", "group_by", "join", "order_by") {
  // Labels spread along edges: the smallest reachable number, round by round.
  using label = std::pair<std::int64_t, std::int64_t>;  // node, label
  std::vector<label> labels, edges;
  for (std::int64_t i = 0; i < 300; ++i) labels.emplace_back(i, i);
  for (std::int64_t i = 0; i + 1 < 300; ++i)
    if (i % 60 != 59) {
      edges.emplace_back(i, i + 1);
      edges.emplace_back(i + 1, i);
    }
  std::vector<label> wanted;
  for (std::int64_t i = 0; i < 300; ++i) wanted.emplace_back(i, i / 60 * 60);
  const auto roads = source(e, edges);
  const auto first = [](const label& l) { return l.first; };
  const auto q = source(e, labels).do_while(
      [=](query::Query<label> now) {
        return now.join(roads, first, first, [](const label& a, const label& road) { return label(road.second, a.second); })
            .concat(now)
            .group_by(first)
            .select([](auto g) { return std::tuple(g.key(), g.min([](auto l) { return l.second; })); })
            .select([](const std::tuple<std::int64_t, std::int64_t>& t) { return label(std::get<0>(t), std::get<1>(t)); });
      },
      [](query::Query<label> previous, query::Query<label> next) {
        const auto total = [](const query::Query<label>& x) {
          return query::value_of(x.select([](const label& l) { return l.second; })).sum();
        };
        return total(previous) != total(next);
      });
  EXPECT_ROWS(q.order_by(first).to_vector(), wanted);
}

CONFORMS(loops, nested_loops, "do_while", "times") {
  numbers wanted = some_numbers(1500);
  for (int i = 0; i < 3; ++i) {
    for (auto& x : wanted) x += 1;
    for (int j = 0; j < 4; ++j)
      for (auto& x : wanted) x = x * 5 % 997;
  }
  const numbers rows = some_numbers(1500);
  const auto q = source(e, rows).do_while(
      [](number_query outer) {
        return outer.select([](auto x) { return x + 1; })
            .do_while([](number_query inner) { return inner.select([](auto x) { return x * 5 % 997; }); }, query::times(4));
      },
      query::times(3));
  EXPECT_ROWS(q.to_vector(), wanted);
}

CONFORMS(loops, broadcast_of_the_loop_variable_is_bound_anew_each_round, "do_while", "broadcast") {
  // Each round adds the largest row to all rows.
  numbers now = some_numbers(2000);
  const numbers rows = now;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t most = *std::max_element(now.begin(), now.end());
    for (auto& x : now) x = (x + most) % 10007;
  }
  const auto q = source(e, rows).do_while(
      [](number_query x) {
        const auto all = query::broadcast(x);
        return x.select([all](auto v) { return (v + all.max(v, [](auto, auto o) { return o; })) % 10007; });
      },
      query::times(4));
  EXPECT_ROWS(q.to_vector(), now);
}

CONFORMS(loops, what_does_not_depend_on_the_variable_is_computed_once, "do_while") {
  if (in_processes(e)) return;  // calls are counted in each process
  static std::atomic<int> calls;
  calls = 0;
  const auto& rows = rates()[2].rows;
  const auto invariant = source(e, rows)
                             .where(query::opaque([](const rate& r) {
                               ++calls;
                               return r.key >= 0;
                             }))
                             .group_by([](auto r) { return r.key; })
                             .select([](auto g) { return query::make<tick>(0, g.key(), g.sum([](auto r) { return r.factor; }), 0.0); });
  const auto& start = small_ticks()[3].rows;
  std::vector<tick> wanted = start;
  for (int i = 0; i < 5; ++i)
    for (tick& t : wanted)
      for (const rate& r : rows)
        if (r.key == t.key && r.key >= 0) {
          t.amount += r.factor;
          break;
        }
  wanted = kept(wanted, [](const tick& t) { return t.key >= 0; });
  const auto key = [](auto t) { return t.key; };
  const auto q = source(e, start).do_while(
      [=](query::Query<tick> x) {
        return x.join(invariant, key, key, [](const tick& t, const tick& s) { return tick{t.id, t.key, t.amount + s.amount, t.price}; });
      },
      query::times(5));
  EXPECT_SAME_ROWS(q.to_vector(), wanted);
  EXPECT_EQ(calls, static_cast<int>(rows.size()));
}

CONFORMS(loops, keys_that_the_condition_changes, "do_while", "join", "semi_join") {
  numbers start, others, wanted;
  for (std::int64_t i = 0; i < 50; ++i) start.push_back(i);
  for (std::int64_t i = 0; i < 60; ++i) others.push_back(i);
  for (std::int64_t i = 41; i < 53; ++i) wanted.push_back(i);
  const auto itself = [](auto x) { return x; };
  for (const bool semi : {false, true}) {
    SCOPED_TRACE(semi);
    std::int64_t shift = 0;
    int rounds = 0;
    const auto shifted = [&shift](auto x) { return x + shift; };
    const auto q = source(e, start).do_while(
        [&](number_query now) -> number_query {
          if (semi) return now.semi_join(source(e, others), itself, shifted).select([](auto x) { return x + 1; });
          return now.join(source(e, others), itself, shifted, [](auto x, auto) { return x + 1; });
        },
        [&](std::span<const std::int64_t>, std::span<const std::int64_t>) {
          shift += 20;
          return ++rounds < 3;
        });
    EXPECT_SAME_ROWS(q.to_vector(), wanted);
  }
}

CONFORMS(loops, a_key_that_fails_in_a_later_round, "do_while", "group_join") {
  if (!e.accelerate || !computes(e)) return;  // a quotient by zero that is compiled ends the process, as in any program
  const numbers start = {6}, others = {1, 2, 4, 6};
  const auto q = source(e, start).do_while(
      [&](number_query now) {
        return now.group_join(source(e, others), [](auto x) { return 12 / (x - 3); }, [](auto x) { return x; },
                              [](auto x, auto own) { return x - 1 + 0 * query::cast<std::int64_t>(own.size()); });
      },
      query::times(5));
  EXPECT_THROW(q.to_vector(), query::user_error);
}

CONFORMS(loops, too_many_rounds_end_in_a_user_error, "do_while") {
  const numbers rows = {1, 2};
  const auto forever = [](std::span<const std::int64_t>, std::span<const std::int64_t>) { return true; };
  EXPECT_THROW(source(e, rows).do_while([](number_query x) { return x.select([](auto v) { return v + 1; }); }, forever, 10).to_vector(),
               query::user_error);
  EXPECT_THROW(
      source(e, rows)
          .do_while([](number_query x) { return x.where([n = x](const std::int64_t& v) { return v < n.count(); }); }, query::times(2))
          .to_vector(),
      query::user_error);
}

}  // namespace
}  // namespace conformance
