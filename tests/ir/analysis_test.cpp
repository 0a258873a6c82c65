// What the planner asks of trees, and trees moved to other places in a plan.
#include <gtest/gtest.h>

#include <ir/analysis.hpp>
#include <query/detail/traced_row.hpp>
#include <query/functions.hpp>

namespace analysis_test {

using query::ir::arena;
using query::ir::describe;
using query::ir::node;
using query::ir::op;

struct Point {
  float x, y;
};
QUERY_RECORD(Point, x, y);
struct Trade {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  Point at;
  std::array<float, 4> w;
  std::string name;
  std::optional<double> fee;
  std::int16_t small;
};
QUERY_RECORD(Trade, symbol, price, qty, at, w, name, fee, small);
struct Out {
  double amount;
  Point at;
  std::int32_t symbol;
};
QUERY_RECORD(Out, amount, at, symbol);

template <class T = Trade, class F> query::ir::traced trace(const F& f, std::uint32_t row = 0) {
  return query::ir::run_trace(
      [&] { return query::detail::to_node(f(query::detail::make_twin<T>(query::detail::row_node(describe<T>(), row)))); });
}
template <class F> bool speculates(const F& f) {
  const auto t = trace(f);
  EXPECT_TRUE(t) << t.reason;
  return speculatable(t.root);
}
template <class F> std::vector<bool> used(const F& f) {
  std::vector<bool> fields;
  fields_used(trace(f).root, 0, describe<Trade>(), fields);
  return fields;
}

TEST(speculatable, accepts_floats_comparisons_and_unsigned_wrap_around) {
  EXPECT_TRUE(speculates([](auto t) { return t.price * 3 / t.at.x > 2 && t.symbol == 7; }));
  EXPECT_TRUE(speculates([](auto t) { return query::cast<std::uint32_t>(t.symbol) * 3u; }));
  EXPECT_TRUE(speculates([](auto t) { return query::sqrt(t.price); }));
  EXPECT_TRUE(speculates([](auto t) { return t.name == "a" || query::starts_with(t.name, "b"); }));
  EXPECT_TRUE(speculates([](auto t) { return t.fee.has_value(); }));
  EXPECT_TRUE(speculates([](auto t) { return query::cast<double>(t.qty) * t.price; }));
}

TEST(speculatable, refuses_signed_overflow_unless_the_operands_are_narrow) {
  EXPECT_FALSE(speculates([](auto t) { return t.symbol + 1; }));
  EXPECT_FALSE(speculates([](auto t) { return -t.symbol; }));
  EXPECT_FALSE(speculates([](auto t) { return t.qty * 2; }));
  EXPECT_TRUE(speculates([](auto t) { return t.small + t.small; }));
  EXPECT_TRUE(speculates([](auto t) { return t.small * t.small - 5; }) == false);  // the product is any int, as far as is known
  EXPECT_TRUE(speculates([](auto t) { return t.small * t.small; }));
  EXPECT_TRUE(speculates([](auto t) { return query::cast<std::int64_t>(t.symbol) * t.symbol; }));
  EXPECT_TRUE(speculates([](auto t) { return query::cast<std::int64_t>(t.symbol) * 1000; }));
  EXPECT_FALSE(speculates([](auto t) { return query::abs(t.symbol); }));
  EXPECT_TRUE(speculates([](auto t) { return query::abs(t.price); }));
}

TEST(speculatable, refuses_what_traps_throws_or_takes_memory) {
  EXPECT_FALSE(speculates([](auto t) { return 100 / t.symbol > 3; }));
  EXPECT_FALSE(speculates([](auto t) { return t.qty % 7; }));
  EXPECT_FALSE(speculates([](auto t) { return *t.fee > 1; }));
  EXPECT_FALSE(speculates([](auto t) { return query::cast<std::int32_t>(t.price); }));
  EXPECT_FALSE(speculates([](auto t) { return t.name + "x" == "ax"; }));
  EXPECT_FALSE(speculates([](auto t) { return query::substr(t.name, 2) == "x"; }));
  EXPECT_FALSE(speculates([](auto t) { return 1 << t.symbol; }));
  EXPECT_TRUE(speculates([](auto t) { return t.symbol >> 3; }));
  EXPECT_FALSE(speculates([](auto t) {
    return query::loop(t.price, [](auto p) { return p > 1; }, [](auto p) { return p / 2; });
  }));
}

TEST(fields_used, marks_top_level_fields) {
  EXPECT_EQ(used([](auto t) { return t.price > 1 && t.at.y < 2; }), (std::vector<bool>{0, 1, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(used([](auto t) { return t.w[3]; }), (std::vector<bool>{0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(used([](auto t) { return t; }), std::vector<bool>(8, true));
  std::vector<bool> fields;
  fields_used(trace([](auto t) { return t.price; }).root, 0, describe<Trade>(), fields);
  fields_used(trace([](auto t) { return t.qty; }).root, 0, describe<Trade>(), fields);
  fields_used(trace([](auto t) { return t.name; }, 1).root, 0, describe<Trade>(), fields);
  EXPECT_EQ(fields, (std::vector<bool>{0, 1, 1, 0, 0, 0, 0, 0}));
}

TEST(rows_used, tells_the_sides_of_a_join_apart) {
  arena a;
  const node *l = a.put(op::field, describe<double>(), {}, 8, 0, "price"), *r = a.put(op::field, describe<double>(), {}, 8, 1, "price");
  const node* both = a.put(op::lt, describe<bool>(), {l, r});
  EXPECT_EQ(rows_used(both), (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(rows_used(a.put(op::lt, describe<bool>(), {r, r})), (std::set<std::uint32_t>{1}));
  EXPECT_EQ(show(renumber_row(a, a.put(op::lt, describe<bool>(), {r, r}), 1, 0)), "(price < price)");
}

TEST(conjuncts, splits_and_joins_in_order) {
  const auto t = trace([](auto r) { return r.price > 1 && r.qty < 2 && (r.symbol == 3 || r.price < 0); });
  const auto parts = conjuncts(t.root);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(show(parts[0]), "(price > 1.0)");
  EXPECT_EQ(show(parts[1]), "(qty < 2)");
  EXPECT_EQ(conjuncts(parts[2]).size(), 1u);
  EXPECT_EQ(conjuncts(conjunction(*t.owner, parts)), parts);
  EXPECT_EQ(conjunction(*t.owner, {}), nullptr);
}

TEST(captures, lists_slots_once) {
  arena a;
  const node *x = a.put(op::collection, describe<double>(), {}, 9), *y = a.put(op::collection, describe<double>(), {}, 4);
  const auto size = [&](const node* c) { return a.put(op::nested, describe<std::uint64_t>(), {c}, 0, 0, "size"); };
  const node* sum = a.put(op::add, describe<std::uint64_t>(), {size(x), a.put(op::add, describe<std::uint64_t>(), {size(y), size(x)})});
  EXPECT_EQ(captures(sum), (std::vector<std::uint64_t>{4, 9}));
  EXPECT_TRUE(has_capture(sum));
  EXPECT_TRUE(contains(sum, op::nested));
  EXPECT_FALSE(contains(sum, op::loop));
}

TEST(is_row_field, finds_bare_fields) {
  const auto y = trace([](auto t) { return t.at.y; });
  const auto key = is_row_field(y.root);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->offset, offsetof(Trade, at) + offsetof(Point, y));
  EXPECT_EQ(key->path, "at.y");
  EXPECT_TRUE(is_row_field(trace([](auto t) { return t; }).root));
  EXPECT_FALSE(is_row_field(trace([](auto t) { return t.symbol + 1; }).root));
}

TEST(substitute, moves_a_predicate_before_a_select) {
  const auto made = trace([](auto t) { return query::make<Out>(t.price * 2, t.at, t.symbol); });
  const auto pass = trace<Out>([](auto o) { return o.amount > 5 && o.at.y < 1 && o.symbol != 3; });
  const node* row[] = {made.root};
  arena a;
  const node* moved = substitute(a, pass.root, row);
  ASSERT_TRUE(moved);
  EXPECT_EQ(show(moved), "(((price * 2.0) > 5.0) && ((at.y < 1.0f) && (symbol != 3)))");
  EXPECT_EQ(rows_used(moved), (std::set<std::uint32_t>{0}));
}

TEST(substitute, refuses_what_it_cannot_take_apart) {
  arena a;
  const node* computed =
      a.put(op::select, describe<Out>(),
            {a.put(op::literal, describe<bool>(), {}, 1), a.put(op::row, describe<Out>()), a.put(op::row, describe<Out>())});
  const node* misaligned = a.put(op::field, describe<double>(), {}, 3);
  const node* made =
      a.put(op::make, describe<Point>(), {a.put(op::field, describe<float>(), {}, 0), a.put(op::field, describe<float>(), {}, 4)});
  const node* rows[] = {made};
  EXPECT_EQ(substitute(a, misaligned, rows), nullptr);
  const node* whole[] = {computed};
  EXPECT_EQ(show(substitute(a, a.put(op::field, describe<float>(), {}, offsetof(Out, at) + 4, 0, "at.y"), whole)),
            "iff(true, row, row).at.y");
}

TEST(substitute, keeps_rows_without_a_replacement) {
  arena a;
  const node *l = a.put(op::field, describe<float>(), {}, 0, 0, "x"), *r = a.put(op::field, describe<float>(), {}, 0, 1, "x");
  const node* both = a.put(op::lt, describe<bool>(), {l, r});
  const node* rows[] = {nullptr, a.put(op::make, describe<Point>(), {l, l})};
  EXPECT_EQ(show(substitute(a, both, rows)), "(x < x)");
}

}  // namespace analysis_test
