#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <query/function.hpp>
#include <query/functions.hpp>

namespace rows_of_functions {

enum class Side { buy, sell };
struct Point {
  float x, y, z;
};
QUERY_RECORD(Point, x, y, z);
struct Body {
  Point at;
  std::array<double, 2> v;
  int mass;
};
QUERY_RECORD(Body, at, v, mass);
struct Row {
  int q;
  double p;
  float w;
  bool hot;
  std::array<float, 8> x;
  Point at;
};
QUERY_RECORD(Row, q, p, w, hot, x, at);
struct Out {
  float a;
  std::optional<int> b;
  std::string name;
};
QUERY_RECORD(Out, a, b, name);

}  // namespace rows_of_functions

namespace {

using namespace rows_of_functions;

template <class T, class X> constexpr bool is = std::is_same_v<T, std::remove_cvref_t<X>>;

// Results have the types of <cmath>; abs, min, max and clamp keep integers.
static_assert(is<double, decltype(query::sqrt(2))> && is<float, decltype(query::sqrt(2.f))> && is<double, decltype(query::sqrt(2.))>);
static_assert(is<double, decltype(query::pow(2.f, 2))> && is<float, decltype(query::pow(2.f, 2.f))>);
static_assert(is<int, decltype(query::abs(-2))> && is<int, decltype(query::abs(short{}))> && is<float, decltype(query::abs(-2.f))>);
static_assert(is<double, decltype(query::max(1, 2.0))> && is<long, decltype(query::min(1, 2L))> &&
              is<int, decltype(query::clamp(1, 2, 3))>);
static_assert(is<bool, decltype(query::isnan(1))> && is<double, decltype(query::floor(2))> && is<unsigned, decltype(query::abs(2u))>);
static_assert(is<double, decltype(query::iff(true, 1, 2.5))> && is<std::string, decltype(query::iff(true, "a", "b"))>);
static_assert(is<std::optional<double>, decltype(query::iff(true, 1.5, std::nullopt))>);
static_assert(is<std::optional<double>, decltype(query::iff(true, std::optional<double>(), std::optional<double>(1.5)))>);
static_assert(is<std::optional<double>, decltype(query::iff(true, std::optional<int>(), std::optional<double>(1.5)))>);
static_assert(is<std::optional<std::string>, decltype(query::iff(true, std::optional<std::string>(), std::optional<std::string>("a")))>);
static_assert(is<float, decltype(query::cast<float>(2.5))> && is<Side, decltype(query::cast<Side>(1))>);

// A traced value must not have bytes to copy, nor take an assignment as a temporary.
static_assert(!std::is_trivially_copyable_v<query::expr<double>> && !std::is_trivially_copyable_v<query::detail::twin_t<Row>>);
template <class E> concept assignable_temporary = requires(E e) { std::move(e) = e; };
static_assert(!assignable_temporary<query::expr<double>>);
static_assert(std::is_nothrow_copy_constructible_v<query::expr<double>> &&
              std::is_nothrow_copy_constructible_v<query::detail::twin_t<Row>>);
static_assert(!std::is_convertible_v<double, query::expr<double>> && std::is_convertible_v<double, query::local<double>>);

TEST(functions, compute_natively_what_std_computes) {
  EXPECT_EQ(query::sqrt(2.0), std::sqrt(2.0));
  EXPECT_EQ(query::hypot(3.f, 4.f), 5.f);
  // The compiler computes std's of a constant by itself, and rounds better than the library does.
  EXPECT_DOUBLE_EQ(query::erf(0.5), std::erf(0.5));
  EXPECT_DOUBLE_EQ(query::erfc(2), std::erfc(2.0));
  EXPECT_FLOAT_EQ(query::tgamma(5.f), 24.f);
  EXPECT_DOUBLE_EQ(query::asinh(0.5), std::asinh(0.5));
  EXPECT_FLOAT_EQ(query::acosh(1.5f), std::acosh(1.5f));
  EXPECT_DOUBLE_EQ(query::atanh(0.5), std::atanh(0.5));
  EXPECT_EQ(query::abs(-3), 3);
  EXPECT_EQ(query::min(3, 1.5), 1.5);
  EXPECT_EQ(query::max(1, 5, 3), 5);
  EXPECT_EQ(query::clamp(7.0, 0, 5), 5.0);
  EXPECT_EQ(query::fma(2.0, 3.0, 4.0), 10.0);
  EXPECT_TRUE(query::isnan(std::nan("")));
  EXPECT_EQ(query::max(1.0, std::nan("")), 1.0);
  EXPECT_TRUE(std::isnan(query::max(std::nan(""), 1.0)));
}

TEST(functions, read_strings_natively) {
  EXPECT_TRUE(query::contains("query", "uer"));
  EXPECT_TRUE(query::starts_with(std::string("query"), "q"));
  EXPECT_FALSE(query::ends_with("query", "q"));
  EXPECT_EQ(query::find("query", "z"), std::string::npos);
  EXPECT_EQ(query::substr("query", 1, 2), "ue");
  EXPECT_EQ(query::to_upper("query 1"), "QUERY 1");
  EXPECT_EQ(query::to_lower("QuerY"), "query");
  EXPECT_EQ(query::length("query"), 5u);
}

TEST(functions, make_records_natively) {
  const Out o = query::make<Out>(1.5, query::cast<int>(3.7), "name");
  EXPECT_EQ(o.a, 1.5f);
  EXPECT_EQ(o.b, 3);
  EXPECT_EQ(o.name, "name");
  EXPECT_EQ(query::make<Out>(1, std::nullopt, std::string()).b, std::nullopt);
}

TEST(functions, iff_chooses_natively) {
  EXPECT_EQ(query::iff(true, 1, 2.5), 1.0);
  EXPECT_EQ(query::iff(query::lazy(3) > 4, std::optional<int>(1), 7), 7);
}

TEST(functions, lazy_conditions_do_not_fork) {
  auto t = query::trace<Row>([](auto r) {
    using query::lazy;
    return query::iff((lazy(r.q) > 3 && !(lazy(r.p) * 2 < query::sqrt(lazy(r.w)))) || lazy(r.hot), r.p, 0);
  });
  ASSERT_TRUE(t) << t.reason;
  EXPECT_EQ(t.runs, 2);  // once for each of the two traces
}

TEST(functions, plain_conditions_choose_while_tracing) {
  for (bool k : {true, false}) {
    auto t = query::trace<Row>([k](auto r) { return query::iff(k, r.p, r.q); });
    EXPECT_EQ(query::ir::show(t), k ? "p" : "f64(q)");
  }
}

TEST(operators, work_member_by_member) {
  using namespace query::operators;
  const std::array<float, 3> a{1, 2, 3};
  EXPECT_EQ((a + a * 2.f), (std::array<float, 3>{3, 6, 9}));
  EXPECT_EQ((-a / 2.0), (std::array<double, 3>{-0.5, -1, -1.5}));
  EXPECT_EQ((6.f / a), (std::array<float, 3>{6, 3, 2}));
  const Body b{{1, 2, 3}, {4, 5}, 6};
  const Body c = b + b * 0.5;
  EXPECT_EQ(c.at.z, 4.5f);
  EXPECT_EQ(c.v[1], 7.5);
  EXPECT_EQ(c.mass, 9);
  static_assert(is<Body, decltype(b * 2.0)> && is<std::array<double, 3>, decltype(a * 2.0)>);
}

TEST(vectors, dot_norm_and_distance) {
  const std::array<float, 3> a{1, 2, 3};
  EXPECT_EQ(query::dot(a, a), 14.f);
  EXPECT_EQ(query::norm(std::array<int, 2>{3, 4}), 5.0);
  EXPECT_EQ(query::squared_distance(Point{1, 2, 3}, std::array<double, 3>{1, 1, 1}), 5.0);
  EXPECT_EQ(query::sum(Body{{1, 2, 3}, {4, 5}, 6}), 21.0);
  static_assert(is<std::int64_t, decltype(query::sum(std::array<std::int8_t, 2>{}))> && is<float, decltype(query::sum(a))>);
}

TEST(vectors, sums_run_in_lanes_of_eight) {
  std::array<float, 16> a{}, ones{};
  for (float& o : ones) o = 1;
  a[0] = 1e8f;
  a[8] = -1e8f;
  a[1] = 1;
  EXPECT_EQ(query::dot(a, ones), 1.f);  // 1e8 - 1e8 in the first lane, 1 in the second
}

TEST(loops, run_natively_as_plain_loops) {
  EXPECT_EQ(query::loop(3, [](auto i) { return i < 100; }, [](auto i) { return i * 2; }), 192);
  const auto [n, steps] = query::loop(std::tuple{27, 0}, [](auto s) { return std::get<0>(s) > 1; }, [](auto s) {
    auto [m, k] = s;
    return std::tuple{m % 2 == 0 ? m / 2 : 3 * m + 1, k + 1};
  });
  EXPECT_EQ(n, 1);
  EXPECT_EQ(steps, 111);
}

TEST(loops, fold_lists_natively) {
  const std::vector<double> v{1, 2.5, -3};
  EXPECT_EQ(query::fold(v, 0, [](auto s, auto e) { return s + e; }), 0.5);  // the state is a double, as f gives one
  EXPECT_EQ(query::sum(v, [](auto e) { return e * 2; }), 1.0);
  EXPECT_EQ(query::min(v), -3.0);
  EXPECT_EQ(query::max(v, [](auto e) { return e * e; }), 9.0);
  EXPECT_TRUE(query::any(v, [](auto e) { return e < 0; }));
  EXPECT_FALSE(query::all(v, [](auto e) { return e < 0; }));
  EXPECT_EQ(query::count(v, [](auto e) { return e > 0; }), 2u);
  static_assert(is<std::int64_t, decltype(query::sum(std::vector<int>{}))>);
}

TEST(loops, min_of_an_empty_list_is_a_user_error) {
  EXPECT_THROW(query::min(std::vector<int>{}), query::user_error);
}

TEST(loops, bodies_do_not_multiply_the_paths_of_the_function) {
  auto t = query::trace<Row>(
      [](auto r) { return query::count(r.x, [](auto e) { return e > 1 && e < 2; }) + query::count(r.x, [](auto e) { return e > 3; }); });
  ASSERT_TRUE(t) << t.reason;
  EXPECT_EQ(query::ir::show(t), "(count(x, e2 -> ((e2 > 1.0f) && (e2 < 2.0f))) + count(x, e2 -> (e2 > 3.0f)))");
}

}  // namespace
