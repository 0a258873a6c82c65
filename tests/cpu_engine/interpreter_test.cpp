// The interpreter against the same lambdas called natively, on random and extreme rows.
#include <limits>
#include <random>

#include <query/errors.hpp>
#include <query/functions.hpp>

#include "interpreted.hpp"

namespace interpreter_test {

using query::testing::expect_same;
using query::testing::interpret;
using query::testing::trace;

struct Inner {
  float w;
  std::int64_t id;
  bool operator==(const Inner&) const = default;
};
QUERY_RECORD(Inner, w, id);

struct Row {
  bool b;
  std::int8_t i8;
  std::int16_t i16;
  std::int32_t i32;
  std::int64_t i64;
  std::uint8_t u8;
  std::uint16_t u16;
  std::uint32_t u32;
  std::uint64_t u64;
  float f32;
  double f64;
  std::string s;
  std::array<float, 16> x;
  std::array<std::int32_t, 3> small;
  Inner in;
  std::optional<double> o;
  std::optional<std::string> os;
  std::vector<double> list;
  bool operator==(const Row&) const = default;
};
QUERY_RECORD(Row, b, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, s, x, small, in, o, os, list);

template <class T> T extreme(std::mt19937_64& g) {
  switch (g() % 6) {
    case 0: return std::numeric_limits<T>::max();
    case 1: return std::numeric_limits<T>::lowest();
    case 2: return T(0);
    case 3: return std::is_signed_v<T> ? static_cast<T>(-1) : T(1);
    default:
      if constexpr (std::is_floating_point_v<T>) return static_cast<T>(static_cast<std::int64_t>(g() % 2000) - 1000) / T(7);
      else return static_cast<T>(g());
  }
}

std::vector<Row> random_rows(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 g(seed);
  std::vector<Row> rows(n);
  for (Row& r : rows) {
    r.b = g() % 2 == 0;
    r.i8 = extreme<std::int8_t>(g);
    r.i16 = extreme<std::int16_t>(g);
    r.i32 = extreme<std::int32_t>(g);
    r.i64 = extreme<std::int64_t>(g);
    r.u8 = extreme<std::uint8_t>(g);
    r.u16 = extreme<std::uint16_t>(g);
    r.u32 = extreme<std::uint32_t>(g);
    r.u64 = extreme<std::uint64_t>(g);
    r.f32 = extreme<float>(g);
    r.f64 = g() % 20 == 0 ? std::numeric_limits<double>::quiet_NaN() : extreme<double>(g);
    r.s = std::string(g() % 24, static_cast<char>('a' + g() % 3)) + (g() % 2 ? "x" : "");
    for (float& v : r.x) v = static_cast<float>(g() % 100) / 8;
    for (auto& v : r.small) v = static_cast<std::int32_t>(g() % 10);
    r.in = {static_cast<float>(g() % 10), static_cast<std::int64_t>(g() % 5)};
    if (g() % 3) r.o = static_cast<double>(g() % 4);
    if (g() % 3) r.os = std::string(g() % 30, 'q');
    for (std::size_t k = g() % 5; k > 0; --k) r.list.push_back(static_cast<double>(g() % 100));
  }
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> r = random_rows(3000, 42);
  return r;
}

using query::ir::describe;
using query::ir::node;
using query::ir::op;

const node* leaf(query::ir::arena& a, const query::ir::type* t, std::size_t offset) { return a.put(op::field, t, {}, offset); }
template <class T> const node* constant(query::ir::arena& a, T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return a.put(op::literal, describe<T>(), {}, bits);
}

TEST(interpreter, computes_mixed_arithmetic_as_c_plus_plus_does) {
  expect_same<Row>([](auto t) { return t.f64 * t.i32 + t.f32; }, rows());
  expect_same<Row>([](auto t) { return t.u32 + t.u16 * 3u; }, rows());
  expect_same<Row>([](auto t) { return t.u64 - t.u8; }, rows());
  expect_same<Row>([](auto t) { return 5 - t.i8 * t.i16; }, rows());
  expect_same<Row>([](auto t) { return -t.i16 + ~t.i32 / 2; }, rows());
  expect_same<Row>([](auto t) { return (t.u32 & 0xffu) | ((t.u32 >> 5) ^ t.u16); }, rows());
  expect_same<Row>([](auto t) { return 1.0 / t.f64 - t.f64 / 3; }, rows());
  expect_same<Row>([](auto t) { return t.b + t.u8; }, rows());
}

TEST(interpreter, compares_as_c_plus_plus_does_with_nan) {
  expect_same<Row>([](auto t) { return t.f64 < 3; }, rows());
  expect_same<Row>([](auto t) { return !(t.f64 >= t.f32); }, rows());
  expect_same<Row>([](auto t) { return t.i64 > t.i32 || t.u8 == t.u16; }, rows());
  expect_same<Row>([](auto t) { return 7 <= t.i8 && t.f64 != t.f64; }, rows());
  expect_same<Row>([](auto t) { return t.s < "b" || t.s == "aax"; }, rows());
}

// Each integer type: results computed in the wider unsigned type, cut off.
template <class T> struct interpreter_integers : ::testing::Test {};
using integers =
    ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(interpreter_integers, integers);

TYPED_TEST(interpreter_integers, wrap_around_in_their_width) {
  using T = TypeParam;
  using pair = std::pair<T, T>;
  std::mt19937_64 g(7);
  std::vector<pair> rows;
  for (int i = 0; i < 2100; ++i) rows.push_back({extreme<T>(g), extreme<T>(g)});
  query::ir::arena a;
  const auto* t = describe<T>();
  const node *x = leaf(a, t, 0), *y = leaf(a, t, sizeof(T)), *c = constant<T>(a, T(5));
  const auto check = [&](op o, const node* p, const node* q, auto native) {
    const auto got = interpret<T>(a.put(o, t, {p, q}), rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto l = static_cast<std::uint64_t>(p == c ? T(5) : rows[i].first),
                 r = static_cast<std::uint64_t>(q == c ? T(5) : rows[i].second);
      ASSERT_EQ(got[i], static_cast<T>(native(l, r))) << query::ir::name_of(o) << " " << i;
    }
  };
  for (const auto& [p, q] : {std::pair{x, y}, std::pair{x, c}, std::pair{c, y}}) {
    check(op::add, p, q, [](auto l, auto r) { return l + r; });
    check(op::sub, p, q, [](auto l, auto r) { return l - r; });
    check(op::mul, p, q, [](auto l, auto r) { return l * r; });
    check(op::bit_and, p, q, [](auto l, auto r) { return l & r; });
    check(op::bit_or, p, q, [](auto l, auto r) { return l | r; });
    check(op::bit_xor, p, q, [](auto l, auto r) { return l ^ r; });
    check(op::shl, p, q, [](auto l, auto r) { return l << (r & (8 * sizeof(T) - 1)); });
    check(op::shr, p, q, [](auto l, auto r) { return static_cast<T>(l) >> (r & (8 * sizeof(T) - 1)); });
  }
  const auto negated = interpret<T>(a.put(op::negate, t, {x}), rows);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(negated[i], static_cast<T>(0 - static_cast<std::uint64_t>(rows[i].first)));
}

TYPED_TEST(interpreter_integers, divide_but_by_zero_and_the_smallest_by_minus_one) {
  using T = TypeParam;
  std::mt19937_64 g(8);
  std::vector<std::pair<T, T>> rows;
  for (int i = 0; i < 2000; ++i) {
    const T d = extreme<T>(g);
    T n = extreme<T>(g);
    if (std::is_signed_v<T> && d == static_cast<T>(-1) && n == std::numeric_limits<T>::min()) n = 5;
    rows.push_back({n, d == 0 ? T(3) : d});
  }
  query::ir::arena a;
  const auto* t = describe<T>();
  const node *x = leaf(a, t, 0), *y = leaf(a, t, sizeof(T));
  const auto quotients = interpret<T>(a.put(op::div, t, {x, y}), rows), rests = interpret<T>(a.put(op::mod, t, {x, y}), rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [l, r] = rows[i];
    ASSERT_EQ(quotients[i], static_cast<T>(l / r));
    ASSERT_EQ(rests[i], static_cast<T>(l % r));
  }
  rows[1500].second = 0;
  EXPECT_THROW(interpret<T>(a.put(op::div, t, {x, y}), rows), query::user_error);
  EXPECT_THROW(interpret<T>(a.put(op::mod, t, {x, y}), rows), query::user_error);
  if constexpr (std::is_signed_v<T>) {
    rows[1500] = {std::numeric_limits<T>::min(), T(-1)};
    EXPECT_THROW(interpret<T>(a.put(op::div, t, {x, y}), rows), query::user_error);
    EXPECT_EQ(interpret<T>(a.put(op::mod, t, {x, y}), rows)[1500], 0);
  }
}

TYPED_TEST(interpreter_integers, convert_from_floats_by_saturating) {
  using T = TypeParam;
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> rows{0,      -0.9,
                                 1.5,    1e300,
                                 -1e300, inf,
                                 -inf,   std::numeric_limits<double>::quiet_NaN(),
                                 100.99, static_cast<double>(std::numeric_limits<T>::max())};
  query::ir::arena a;
  const auto got = interpret<T>(a.put(op::cast, describe<T>(), {a.put(op::row, describe<double>())}), rows);
  const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  EXPECT_EQ(got, (std::vector<T>{0, 0, 1, most, least, most, least, 0, 100, most}));
}

TEST(interpreter, converts_between_all_kinds) {
  expect_same<Row>([](auto t) { return query::cast<std::int8_t>(t.i64); }, rows());
  expect_same<Row>([](auto t) { return query::cast<std::uint64_t>(t.i8); }, rows());
  expect_same<Row>([](auto t) { return query::cast<float>(t.u64); }, rows());
  expect_same<Row>([](auto t) { return query::cast<double>(t.f32) + query::cast<double>(t.i64); }, rows());
  expect_same<Row>([](auto t) { return query::cast<bool>(t.u16); }, rows());
  expect_same<Row>([](auto t) { return query::cast<std::int16_t>(t.b); }, rows());
}

TEST(interpreter, does_not_trap_on_what_is_not_chosen) {
  expect_same<Row>([](auto t) -> query::value_t<std::int64_t, decltype(t.i64)> {
    if (t.i16 == 0 || t.i16 == -1) return t.i64;
    return t.i64 / t.i16;
  }, rows());
  expect_same<Row>([](auto t) { return t.u8 != 0 && t.u32 / t.u8 > 3; }, rows());
  expect_same<Row>([](auto t) { return t.u8 == 0 || t.u32 % t.u8 == 1; }, rows());
  expect_same<Row>([](auto t) { return t.o.has_value() ? *t.o > 1 : t.u8 != 0 && t.u64 / t.u8 > 9; }, rows());
}

TEST(interpreter, computes_a_value_shared_by_several_arms_for_the_lanes_of_each) {
  // (u8 != 0 ? q : 0) + (u8 > 3 ? q * 2 : 1), q = u32 / u8: q traps where neither arm wants it.
  query::ir::arena a;
  const auto* u32 = describe<std::uint32_t>();
  const auto* boolean = describe<bool>();
  const node* d = a.put(op::cast, u32, {leaf(a, describe<std::uint8_t>(), offsetof(Row, u8))});
  const node* q = a.put(op::div, u32, {leaf(a, u32, offsetof(Row, u32)), d});
  const auto number = [&](std::uint32_t v) { return constant(a, v); };
  const node* x = a.put(op::select, u32, {a.put(op::eq, boolean, {d, number(7)}), q, number(0)});
  const node* y = a.put(op::select, u32, {a.put(op::gt, boolean, {d, number(3)}), a.put(op::mul, u32, {q, number(2)}), number(1)});
  const node* z = a.put(op::select, u32, {a.put(op::gt, boolean, {x, number(5)}), a.put(op::add, u32, {q, y}), y});
  const auto got = interpret<std::uint32_t>(a.put(op::add, u32, {x, z}), rows());
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Row& r = rows()[i];
    const std::uint32_t nx = r.u8 == 7 ? r.u32 / r.u8 : 0, ny = r.u8 > 3 ? r.u32 / r.u8 * 2 : 1;
    ASSERT_EQ(got[i], nx + (nx > 5 ? r.u32 / r.u8 + ny : ny)) << i;
  }
}

TEST(interpreter, is_linear_in_deep_chains_of_trapping_selects) {
  // x = c ? x / d : x + 1, two hundred times: both arms share x.
  query::ir::arena a;
  const auto* i64 = describe<std::int64_t>();
  const node* start = a.put(op::row, i64);
  const node* x = start;
  for (int i = 0; i < 200; ++i) {
    const node* c = a.put(op::gt, describe<bool>(), {x, constant<std::int64_t>(a, 50 + i)});
    const node* d = a.put(op::add, i64, {start, constant<std::int64_t>(a, i % 3)});
    x = a.put(op::select, i64, {c, a.put(op::div, i64, {x, d}), a.put(op::add, i64, {x, constant<std::int64_t>(a, 9)})});
  }
  std::vector<std::int64_t> in;
  for (int i = 1; i < 1500; ++i) in.push_back(i);
  const auto got = interpret<std::int64_t>(x, in);
  for (std::size_t k = 0; k < in.size(); ++k) {
    std::int64_t v = in[k];
    for (int i = 0; i < 200; ++i) v = v > 50 + i ? v / (in[k] + i % 3) : v + 9;
    ASSERT_EQ(got[k], v);
  }
}

TEST(interpreter, takes_trees_of_any_depth) {
  query::ir::limits().nodes = 1 << 18;
  query::ir::arena a;
  query::ir::limits().nodes = 1 << 16;
  const auto* i64 = describe<std::int64_t>();
  const node* x = a.put(op::row, i64);
  for (std::int64_t i = 1; i < 60000; ++i) x = a.put(i % 3 ? op::add : op::div, i64, {x, constant<std::int64_t>(a, i)});
  const std::vector<std::int64_t> in{1, 2, 1000000};
  const auto got = interpret<std::int64_t>(x, in);
  std::int64_t v = in[2];
  for (std::int64_t i = 1; i < 60000; ++i) v = i % 3 ? v + i : v / i;
  EXPECT_EQ(got[2], v);
}

TEST(interpreter, evaluates_functions_of_numbers) {
  expect_same<Row>([](auto t) { return query::sqrt(query::abs(t.f64)) + query::pow(t.f32, 2.0); }, rows());
  expect_same<Row>([](auto t) { return query::floor(t.f64) - query::ceil(t.f32) + query::round(t.f64) * query::trunc(t.f64); }, rows());
  expect_same<Row>([](auto t) { return query::exp(t.f64 / 1000) + query::log1p(query::abs(t.f32)) + query::tanh(t.f64); }, rows());
  expect_same<Row>([](auto t) { return query::erf(t.f64 / 10) + query::erfc(t.f32) * query::tgamma(query::abs(t.f32) / 100 + 1); }, rows());
  expect_same<Row>([](auto t) { return query::asinh(t.f64) + query::acosh(query::abs(t.f32) + 1) + query::atanh(t.f32 / 1000); }, rows());
  expect_same<Row>([](auto t) { return query::sin(t.f32) * query::atan2(t.f64, 3.0); }, rows());
  expect_same<Row>([](auto t) { return query::min(t.i32, t.i16) + 0 * query::max(t.u8, 7); }, rows());
  expect_same<Row>([](auto t) { return query::clamp(t.f64, -2.0, 9.0); }, rows());
  expect_same<Row>([](auto t) { return query::fma(t.f64, 3.0, t.f64); }, rows());
  expect_same<Row>([](auto t) { return query::copysign(query::hypot(t.f32, 2.f), t.f32) + query::fmod(t.f32, 3.f); }, rows());
  expect_same<Row>([](auto t) { return query::isnan(t.f64) || query::isinf(t.f32 * t.f32); }, rows());
}

TEST(interpreter, evaluates_functions_of_strings) {
  expect_same<Row>([](auto t) { return t.s + "-" + t.s; }, rows());
  expect_same<Row>([](auto t) { return query::starts_with(t.s, "aa") || query::ends_with(t.s, "bx"); }, rows());
  expect_same<Row>([](auto t) { return query::contains(t.s, "cx"); }, rows());
  expect_same<Row>([](auto t) { return query::find(t.s, "x") + t.s.size(); }, rows());
  expect_same<Row>([](auto t) { return query::to_upper(query::substr(t.s, 0, 3)); }, rows());
}

TEST(interpreter, computes_strings_only_where_they_are_chosen) {
  // substr throws for short strings.
  query::ir::arena a;
  const auto* text = describe<std::string>();
  const node* s = leaf(a, text, offsetof(Row, s));
  const node* four = constant<std::uint64_t>(a, 4);
  const node* longer = a.put(op::ge, describe<bool>(), {a.put(op::size, describe<std::size_t>(), {s}), four});
  const node* end = a.put(op::call, text, {s, four, four}, 0, 0, "substr");
  const node* bang = a.put(op::literal, text, {}, 0, 0, "!");
  const auto got = interpret<std::string>(a.put(op::select, text, {longer, a.put(op::add, text, {end, bang}), s}), rows());
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const std::string& n = rows()[i].s;
    ASSERT_EQ(got[i], n.size() >= 4 ? n.substr(4, 4) + "!" : n);
  }
  EXPECT_THROW(interpret<std::string>(end, rows()), std::out_of_range);
}

TEST(interpreter, gives_optionals_their_meaning) {
  using O = std::optional<double>;
  expect_same<Row>([](auto t) { return t.o.has_value(); }, rows());
  expect_same<Row>([](auto t) { return t.o.value_or(-1.0) * 2; }, rows());
  query::ir::arena a;
  const auto* type = describe<O>();
  const node* o = leaf(a, type, offsetof(Row, o));
  const node* one = a.put(op::some, type, {constant(a, 1.0)});
  const node* empty = a.put(op::null, type);
  const O present = 1.0, absent;
  for (const node* right : {one, empty, o})
    for (const op what : {op::lt, op::le, op::gt, op::ge, op::eq, op::ne}) {
      const auto got = interpret<bool>(a.put(what, describe<bool>(), {o, right}), rows());
      for (std::size_t i = 0; i < rows().size(); ++i) {
        const O& l = rows()[i].o;
        const O& r = right == one ? present : right == empty ? absent : l;
        const bool want = what == op::lt   ? l < r
                          : what == op::le ? l <= r
                          : what == op::gt ? l > r
                          : what == op::ge ? l >= r
                          : what == op::eq ? l == r
                                           : l != r;
        ASSERT_EQ(got[i], want) << query::ir::name_of(what) << i;
      }
    }
  const node* value = a.put(op::value, describe<double>(), {o});
  EXPECT_THROW(interpret<double>(value, rows()), query::user_error);
  // Results: present values doubled, 1 where the flag says so, else empty.
  const node* flag = leaf(a, describe<bool>(), offsetof(Row, b));
  const node* twice = a.put(op::some, type, {a.put(op::add, describe<double>(), {value, value})});
  const node* tree =
      a.put(op::select, type, {a.put(op::has_value, describe<bool>(), {o}), twice, a.put(op::select, type, {flag, one, empty})});
  const auto got = interpret<O>(tree, rows());
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Row& r = rows()[i];
    ASSERT_EQ(got[i], r.o ? O(*r.o * 2) : r.b ? O(1.0) : O());
  }
  EXPECT_EQ(interpret<std::optional<std::string>>(leaf(a, describe<std::optional<std::string>>(), offsetof(Row, os)), rows())[5],
            rows()[5].os);
}

TEST(interpreter, copies_rows_and_builds_records) {
  EXPECT_EQ(trace<Row>([](auto t) { return t; }).root->what, op::row);
  std::vector<Row> without_nan = rows();
  for (Row& r : without_nan) r.f64 = 1;
  expect_same<Row>([](auto t) { return t; }, without_nan);
  expect_same<Row>([](auto t) { return t.in; }, rows());
  expect_same<Row>([](auto t) { return query::make<Inner>(t.f32 + 1, t.i64); }, rows());
  expect_same<Row>([](auto t) { return std::tuple{t.s + "!", t.o, t.x, t.list, t.small[1], t.os}; }, rows());
  expect_same<Row>([](auto t) { return t.small; }, rows());
  expect_same<Row>([](auto t) { return t.list; }, rows());
}

TEST(interpreter, reads_columns_as_it_reads_rows) {
  std::vector<float> w;
  std::vector<std::int64_t> id;
  for (const Row& r : rows()) {
    w.push_back(r.in.w);
    id.push_back(r.in.id);
  }
  using namespace query::interpreter;
  const column columns[] = {{w.data(), sizeof(float), offsetof(Inner, w), sizeof(float)},
                            {id.data(), sizeof(std::int64_t), offsetof(Inner, id), sizeof(std::int64_t)}};
  const binding b{nullptr, 0, columns};
  query::ir::arena a;
  scratch s;
  const node* sum =
      a.put(op::add, describe<float>(),
            {leaf(a, describe<float>(), 0), a.put(op::cast, describe<float>(), {leaf(a, describe<std::int64_t>(), offsetof(Inner, id))})});
  std::vector<float> sums(w.size());
  program(sum).run({&b, 1}, {}, w.size(), sums.data(), s);
  std::vector<Inner> whole(w.size());
  program(a.put(op::row, describe<Inner>())).run({&b, 1}, {}, w.size(), whole.data(), s);
  for (std::size_t i = 0; i < w.size(); ++i) {
    ASSERT_EQ(sums[i], w[i] + static_cast<float>(id[i]));
    ASSERT_EQ(whole[i], (Inner{w[i], id[i]}));
  }
  const column missing[] = {columns[0]};
  const binding part{nullptr, 0, missing};
  EXPECT_THROW(program(sum).run({&part, 1}, {}, w.size(), sums.data(), s), query::internal_error);
}

TEST(interpreter, reads_both_rows_of_a_join_and_bound_aggregates) {
  query::ir::arena a;
  const auto* i64 = describe<std::int64_t>();
  const node* left = a.put(op::row, i64);
  const node* right = a.put(op::row, i64, {}, 0, 1);
  const node* total = a.put(op::aggregate, i64, {left}, 0, 0, "sum");
  const node* tree = a.put(op::add, i64, {a.put(op::mul, i64, {left, right}), total});
  std::vector<std::int64_t> x(1030), y(1030), t(1030), out(1030);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(i), y[i] = 3, t[i] = 1000 * x[i];
  const query::interpreter::binding rows[] = {{x.data(), 8, {}}, {y.data(), 8, {}}};
  const query::interpreter::bound_value v{total, t.data(), 8};
  query::interpreter::scratch s;
  query::interpreter::program(tree).run(rows, {{}, {&v, 1}}, x.size(), out.data(), s);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], x[i] * 3 + t[i]);
}

TEST(interpreter, sums_products_of_arrays_in_lanes) {
  expect_same<Row>([](auto t) { return query::squared_distance(t.x, t.x) + query::dot(t.x, t.x); }, rows());
  expect_same<Row>([](auto t) { return query::norm(t.x); }, rows());
  expect_same<Row>([](auto t) { return query::dot(t.small, t.small); }, rows());
}

}  // namespace interpreter_test
