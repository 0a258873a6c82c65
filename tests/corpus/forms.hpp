// The corpus of lambda forms: what C++ programmers write, what becomes of it, and the check that both lives agree.
//
// A form is traced, interpreted on random rows and compared with its native results; or it is opaque for the expected
// reason. Forms that must not compile are files of tests/compile_fail. lambda_forms.md is the table of all.
//
//   TRACED("product", [](auto t) { return t.price * t.qty; });
//   OPAQUE("typed local", "a traced value became a plain", [](auto t) { double p = t.price; return p; });
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include <query/broadcast.hpp>
#include <query/function.hpp>
#include <query/functions.hpp>
#include <query/group.hpp>
#include <query/members.hpp>

namespace corpus {

enum class Side { buy, sell };
struct Vec3 {
  float x, y, z;
  QUERY_RECORD_MEMBERS(Vec3, (x, y, z),
    auto square() const { return x * x + y * y + z * z; }
    auto largest() const { if (x > y) return x > z ? x : z; return y > z ? y : z; }
    auto scaled(const auto& by) const { return query::make<Vec3>(x * by, y * by, z * by); }
    auto along(const auto& v) const { return x * v.x + y * v.y + z * v.z; }
    bool inside(const auto& low, const auto& high) const { return low.x <= x && x <= high.x && low.z <= z && z <= high.z; }
    auto mirrored(const auto& v) const { if (along(v) < 0) return scaled(-1.0f); return scaled(1.0f); }
  )
};
struct Leg {
  int qty;
  double price;
  QUERY_RECORD_MEMBERS(Leg, (qty, price),
    auto total() const { return qty * price; }
    double typed_total() const { return qty * price; }
    auto step() const { qty_type n = 1; return qty + n; }
    using qty_type = int;
    static constexpr int lot = 4;
    auto lots() const { return qty / lot; }
    auto bought(const auto& n) const { auto leg = *this; leg.qty += n; return leg; }
  )
};
// All numbers: lambdas get a Trade.
struct Trade {
  std::int32_t symbol;
  double price;
  int qty;
  bool hot;
  Side side;
  std::array<float, 8> x;
  float raw[4];
  Vec3 pos;
  std::int64_t when;
  std::uint32_t flags;
  short lots;
  float weight;
  unsigned char level;
  std::array<Leg, 2> legs;
};
QUERY_RECORD(Trade, symbol, price, qty, hot, side, x, raw, pos, when, flags, lots, weight, level, legs);
// Operators of its own, which take every form of the row. In a namespace of its own, as an operator* hides those of
// query::operators.
namespace waves {
struct Phase {
  double re, im;
  QUERY_RECORD_MEMBERS(Phase, (re, im),
    auto operator*(const auto& p) const { return query::make<Phase>(re * p.re - im * p.im, re * p.im + im * p.re); }
    auto operator+(const auto& p) const { return query::make<Phase>(re + p.re, im - p.im); }
    template <class Out = Phase> auto operator-() const { return query::make<Out>(im, re); }
    bool operator==(const auto& p) const { return re == p.re; }
    bool operator<(const auto& p) const { if (re == p.re) return im < p.im; return re < p.re; }
    auto operator()(const auto& x) const { return re + im * x; }
  )
};
template <class X> concept phase_like = requires(X x) { x.re; x.im; };
template <class K, phase_like P> requires(!phase_like<K>) auto operator*(const K& k, const P& p) { return query::make<Phase>(k * p.re, p.im); }
}  // namespace waves
using waves::Phase;
// Strings, nulls, lists: lambdas get a view of an Order.
struct Order {
  int id;
  std::string name;
  std::optional<double> fee;
  std::optional<int> lot;
  std::vector<Leg> legs;
  std::vector<double> marks;
  std::string city;
  std::optional<Vec3> place;
  double price;
};
QUERY_RECORD(Order, id, name, fee, lot, legs, marks, city, place, price);
// An array that is too long to be unrolled.
struct Series {
  int id;
  float scale;
  std::array<float, 100> x;
};
QUERY_RECORD(Series, id, scale, x);
// Rows of groups: lambdas get a query::Group of them.
struct Deal {
  int id;
  double price;
  float weight;  // may be NaN
  std::int64_t when;
  short lots;
  bool hot;
  Side side;
  std::string name;
  std::optional<double> fee;
  std::optional<int> lot;
  std::optional<std::string> note;
  std::array<float, 3> x;
  Leg leg;
};
QUERY_RECORD(Deal, id, price, weight, when, lots, hot, side, name, fee, lot, note, x, leg);
using Deals = query::Group<int, Deal>;
struct Doubles {
  std::array<double, 100> x;
};
QUERY_RECORD(Doubles, x);
struct Out {
  double a;
  int b;
};
QUERY_RECORD(Out, a, b);
struct Wide {
  float f;
  std::optional<double> fee;
  Vec3 at;
  std::array<double, 2> pair;
  Side side;
};
QUERY_RECORD(Wide, f, fee, at, pair, side);
struct Named {
  std::string name;
  std::size_t size;
};
QUERY_RECORD(Named, name, size);
struct Undescribed {
  int a;
};

enum class outcome { traced, opaque, differs };

struct form {
  std::string batch, name, source;
  outcome expected = outcome::traced;
  std::string reason;  // that it begins with
  query::ir::traced trace;
  const query::ir::type* result = nullptr;
  const query::ir::type* row = nullptr;
  std::function<void(const void* row, void* out)> native;
  std::vector<std::shared_ptr<const query::detail::capture>> captures;
};

class collector {
 public:
  explicit collector(std::string batch) : batch_(std::move(batch)) {}
  template <class Row, class F> void add(const char* name, const char* source, outcome expected, const char* reason, F f) {
    query::check_callable<F, Row>();
    form made;
    made.batch = batch_;
    made.name = name;
    made.source = source;
    made.expected = expected;
    made.reason = reason;
    query::detail::capture_recorder recorder;
    made.trace = query::trace<Row>(f);
    using R = query::result_t<F, Row>;
    made.result = query::ir::describe<R>();
    made.row = query::ir::describe<Row>();
    made.captures = recorder.found();
    made.native = [f](const void* row, void* out) {
      ::new (out) R(query::detail::as_stored<R>(query::detail::call(f, *static_cast<const Row*>(row))));
    };
    forms.push_back(std::move(made));
  }
  std::vector<form> forms;

 private:
  std::string batch_;
};

// The batches, each a file.
std::vector<form> branches(), arithmetic(), records_and_arrays(), members(), strings_and_nulls(), nested(), groups(), library(), black_boxes(),
    times(), string_functions();

// n values in raw memory, of which the first `constructed` live.
class values {
 public:
  values(const query::ir::type* t, std::size_t n) : type_(t), memory_(t->size * n) {}
  ~values() { type_->life.destroy(memory_.data(), constructed); }
  values(const values&) = delete;
  values& operator=(const values&) = delete;
  void* at(std::size_t i) { return memory_.data() + i * type_->size; }
  const void* at(std::size_t i) const { return memory_.data() + i * type_->size; }
  std::size_t constructed = 0;

 private:
  const query::ir::type* type_;
  std::vector<std::byte> memory_;
};

// The random rows that a form's two lives are compared on.
const void* rows_of(const form& f, std::size_t& n);
// Evaluates the trace over the rows.
using evaluation = std::function<void(const form& f, const void* rows, std::size_t n, values& results)>;
void interpret(const form& f, const void* rows, std::size_t n, values& results);
// Is one value of the type the other, floats but for so many times 1e-5 (float) and 1e-12 (double)? NaN is NaN.
bool same(const query::ir::type* t, const void* a, const void* b, double tolerance = 1);
void print(std::ostream& out, const query::ir::type* t, const void* value);
// Runs both lives of a form over random rows; what differs, or nothing.
std::string compare(const form& f, const evaluation& evaluate = interpret);

// Helpers as users write them.
template <class V> auto norm_auto(const V& v) {
  auto s = v[0] * v[0];
  for (std::size_t i = 1; i < v.size(); ++i) s += v[i] * v[i];
  return s;
}
template <class V> auto norm_float(const V& v) {
  float s = 0;
  for (auto e : v) s += e * e;
  return s;
}
template <class V> auto norm_value(const V& v) {
  query::value_t<float, V> s = 0;
  for (auto e : v) s += e * e;
  return s;
}
inline double plain_helper(double x) { return x * 2; }
inline double plain_helper(const Deal& d) { return d.price * 2; }
inline double plain_helper(const Deals& g) { return static_cast<double>(g.size()) * 2; }
template <class T> T square(T x) { return x * x; }
auto abbreviated(const auto& t) { return t.price * 2; }
inline int counter = 0;
inline double limit = 2;

}  // namespace corpus

#define QUERY_FORM(Row, expected, name, reason, ...) to.add<Row>(name, #__VA_ARGS__, corpus::outcome::expected, reason, __VA_ARGS__)
#define TRACED(name, ...) QUERY_FORM(corpus::Trade, traced, name, "", __VA_ARGS__)
#define OPAQUE(name, reason, ...) QUERY_FORM(corpus::Trade, opaque, name, reason, __VA_ARGS__)
#define DIFFERS(name, ...) QUERY_FORM(corpus::Trade, differs, name, "", __VA_ARGS__)
#define TRACED_ORDER(name, ...) QUERY_FORM(corpus::Order, traced, name, "", __VA_ARGS__)
#define TRACED_SERIES(name, ...) QUERY_FORM(corpus::Series, traced, name, "", __VA_ARGS__)
#define TRACED_GROUP(name, ...) QUERY_FORM(corpus::Deals, traced, name, "", __VA_ARGS__)
#define OPAQUE_GROUP(name, reason, ...) QUERY_FORM(corpus::Deals, opaque, name, reason, __VA_ARGS__)
#define OPAQUE_ORDER(name, reason, ...) QUERY_FORM(corpus::Order, opaque, name, reason, __VA_ARGS__)

#define PLAIN "a traced value became a plain C++ value"

// Natively the forms may warn as their users' code would.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-value"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wabsolute-value"
#pragma GCC diagnostic ignored "-Wbitwise-instead-of-logical"
#pragma GCC diagnostic ignored "-Wunused-lambda-capture"
#endif
