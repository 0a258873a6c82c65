// Mathematical functions in f32 and f64 (abs in every kind), and those of the calendar in i64, by name.
#include <cmath>
#include <type_traits>

#include <cpu_engine/interpreter/by_kind.hpp>
#include <cpu_engine/interpreter/kernels.hpp>
#include <query/detail/calendar.hpp>

namespace query::interpreter {
namespace {

struct unary_entry {
  std::string_view name;
  kernel f32, f64;
};
struct binary_entry {
  std::string_view name;
  kernel f32, f64;
};

// Function: a class with a static template `of`.
template <class Function, class T> void apply1(void* to, const void* a, const void*, std::size_t n) {
  using R = decltype(Function::of(T{}));
  using Stored = std::conditional_t<std::is_same_v<R, bool>, std::uint8_t, R>;
  auto* __restrict t = static_cast<Stored*>(to);
  const T* __restrict x = static_cast<const T*>(a);
  for (std::size_t i = 0; i < n; ++i) t[i] = Function::of(x[i]);
}
template <class Function, class T> void apply2(void* to, const void* a, const void* b, std::size_t n) {
  T* __restrict t = static_cast<T*>(to);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < n; ++i) t[i] = Function::of(x[i], y[i]);
}

#define QUERY_UNARY(name)                                             \
  struct name##_of {                                                  \
    template <class T> static auto of(T x) { return std::name(x); }   \
  };
#define QUERY_BINARY(name)                                              \
  struct name##_of {                                                    \
    template <class T> static T of(T x, T y) { return std::name(x, y); } \
  };
#define QUERY_EACH_UNARY(X)                                                                                        \
  X(sqrt) X(cbrt) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos)    \
  X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(floor) X(ceil) X(round) X(trunc) X(isnan) X(isinf) \
  X(isfinite) X(signbit) X(erf) X(erfc) X(tgamma)
#define QUERY_EACH_BINARY(X) X(pow) X(atan2) X(fmod) X(hypot) X(copysign) X(fmin) X(fmax) X(remainder) X(fdim)

QUERY_EACH_UNARY(QUERY_UNARY)
QUERY_EACH_BINARY(QUERY_BINARY)

#define QUERY_ENTRY1(name) {#name, apply1<name##_of, float>, apply1<name##_of, double>},
#define QUERY_ENTRY2(name) {#name, apply2<name##_of, float>, apply2<name##_of, double>},
constexpr unary_entry unary_entries[] = {QUERY_EACH_UNARY(QUERY_ENTRY1)};
constexpr binary_entry binary_entries[] = {QUERY_EACH_BINARY(QUERY_ENTRY2)};

struct abs_of {
  template <class T> static T of(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    else if constexpr (std::is_unsigned_v<T>) return x;
    else return x < 0 ? static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x)) : x;  // the smallest one wraps
  }
};

#define QUERY_CALENDAR1(name)                                                                 \
  struct name##_of {                                                                           \
    static std::int64_t of(std::int64_t x) { return detail::calendar::name(x); }               \
  };
#define QUERY_CALENDAR2(name)                                                                   \
  struct name##_of {                                                                           \
    static std::int64_t of(std::int64_t x, std::int64_t y) { return detail::calendar::name(x, y); } \
  };
QUERY_CALENDAR1(month_of_days) QUERY_CALENDAR1(day_of_days) QUERY_CALENDAR1(days_of_month)
QUERY_CALENDAR2(floor_divide) QUERY_CALENDAR2(floor_modulo)

struct calendar_entry {
  std::string_view name;
  kernel run;
};
constexpr calendar_entry calendar_unary[] = {{"month_of_days", apply1<month_of_days_of, std::int64_t>},
                                             {"day_of_days", apply1<day_of_days_of, std::int64_t>},
                                             {"days_of_month", apply1<days_of_month_of, std::int64_t>}};
constexpr calendar_entry calendar_binary[] = {{"floor_divide", apply2<floor_divide_of, std::int64_t>},
                                              {"floor_modulo", apply2<floor_modulo_of, std::int64_t>}};

template <class T> void multiply_add(void* to, const void* a, const void* b, const void* c, std::size_t n) {
  T* __restrict t = static_cast<T*>(to);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  const T* __restrict z = static_cast<const T*>(c);
  for (std::size_t i = 0; i < n; ++i) t[i] = std::fma(x[i], y[i], z[i]);
}

template <std::size_t N> kernel find_calendar(const calendar_entry (&entries)[N], std::string_view name) {
  for (const calendar_entry& e : entries)
    if (e.name == name) return e.run;
  return nullptr;
}
template <class Entry, std::size_t N> kernel find(const Entry (&entries)[N], std::string_view name, ir::kind k) {
  if (!ir::is_floating(k)) return nullptr;
  for (const Entry& e : entries)
    if (e.name == name) return k == ir::kind::f32 ? e.f32 : e.f64;
  return nullptr;
}

}  // namespace

kernel unary_math(std::string_view name, ir::kind k) {
  if (name == "abs" || name == "fabs")
    return by_kind<kernel>(k, []<class T>(T) -> kernel { return apply1<abs_of, T>; });
  return k == ir::kind::i64 ? find_calendar(calendar_unary, name) : find(unary_entries, name, k);
}
kernel binary_math(std::string_view name, ir::kind k) {
  return k == ir::kind::i64 ? find_calendar(calendar_binary, name) : find(binary_entries, name, k);
}

kernel3 fused_multiply_add(ir::kind k) {
  if (k == ir::kind::f32) return multiply_add<float>;
  return k == ir::kind::f64 ? multiply_add<double> : nullptr;
}

}  // namespace query::interpreter
