// Expressions as text.
#include <cstring>

#include <gtest/gtest.h>

#include <query/detail/traced_row.hpp>
#include <query/functions.hpp>

namespace show_test {

using query::ir::arena;
using query::ir::describe;
using query::ir::node;
using query::ir::op;

struct Leg {
  double price;
};
QUERY_RECORD(Leg, price);
struct Vwap {
  std::int32_t symbol;
  double vwap;
};
QUERY_RECORD(Vwap, symbol, vwap);
struct Trade {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  float w;
  std::string name;
  std::optional<double> fee;
  std::vector<Leg> legs;
  Leg best;
};
QUERY_RECORD(Trade, symbol, price, qty, w, name, fee, legs, best);

template <class F> std::string text(const F& f) {
  return show(query::ir::run_trace(
      [&] { return query::detail::to_node(f(query::detail::make_twin<Trade>(query::detail::row_node(describe<Trade>(), 0)))); }));
}

TEST(show, writes_infix_text_with_casts_and_paths) {
  EXPECT_EQ(text([](auto t) { return t.price * query::cast<double>(t.qty); }), "(price * f64(qty))");
  EXPECT_EQ(text([](auto t) { return -t.best.price > 1.5 && t.w < 0.25f; }), "((-best.price > 1.5) && (w < 0.25f))");
  EXPECT_EQ(text([](auto t) { return query::iff(query::lazy(t.symbol) == 3, t.price, 0.0); }), "iff((symbol == 3), price, 0.0)");
  EXPECT_EQ(text([](auto t) { return query::make<Vwap>(t.symbol, query::sqrt(t.price)); }), "Vwap{symbol, sqrt(price)}");
  EXPECT_EQ(text([](auto t) { return t.name + "a\"b\n"; }), "(name + \"a\\\"b\\n\")");
  EXPECT_EQ(text([](auto t) { return t.fee.value_or(2.0); }), "iff(has_value(fee), value(fee), 2.0)");
  EXPECT_EQ(text([](auto t) { return query::sum(t.legs, [](auto l) { return l.price * 2; }); }), "sum(legs, e2 -> (e2.price * 2.0))");
  EXPECT_EQ(text([](auto t) { return query::loop(t.price, [](auto p) { return p > 1; }, [](auto p) { return p / 2; }); }),
            "loop(v2 = price, while (v2 > 1.0), next (v2 / 2.0))");
}

TEST(show, gives_the_reason_of_an_opaque_function) {
  query::ir::traced t;
  t.reason = "a table lookup";
  EXPECT_EQ(show(t), "opaque: a table lookup");
}

template <class T> std::string literal(T v) {
  arena a;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return show(a.put(op::literal, describe<T>(), {}, bits));
}

TEST(show, writes_literals_by_type_so_that_they_read_back) {
  EXPECT_EQ(literal(true), "true");
  EXPECT_EQ(literal(std::int8_t{-5}), "-5");
  EXPECT_EQ(literal(std::uint64_t{18446744073709551615u}), "18446744073709551615");
  EXPECT_EQ(literal(0.1), "0.1");
  EXPECT_EQ(literal(0.1f), "0.1f");
  EXPECT_EQ(literal(1e300), "1e+300");
  EXPECT_EQ(literal(3.0), "3.0");
}

TEST(show, cuts_what_is_long_or_deep) {
  arena a;
  const node* x = a.put(op::row, describe<double>());
  for (int i = 0; i < 1000; ++i) x = a.put(op::add, describe<double>(), {x, x});
  const std::string s = show(x);
  EXPECT_LE(s.size(), 4200u);
  EXPECT_NE(s.find("..."), std::string::npos);
  const node* many = a.put(
      node{op::make, 0, describe<std::array<double, 20>>(), 0, std::vector<const node*>(20, a.put(op::row, describe<double>())), "", 0});
  EXPECT_EQ(show(many), "array{row, row, row, row, row, row, row, row, ... 12 more}");
}

TEST(show, names_every_operation) {
  for (int i = 0; i <= static_cast<int>(op::aggregate); ++i) EXPECT_FALSE(query::ir::name_of(static_cast<op>(i)).empty());
  EXPECT_EQ(query::ir::name_of(op::aggregate), "aggregate");
  EXPECT_EQ(query::ir::name_of(op::select), "select");
  EXPECT_EQ(query::ir::name_of(op::lt), "lt");
}

}  // namespace show_test
