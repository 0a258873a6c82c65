#include "ir/typed_text/numbers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

namespace query::ir::typed_text {

namespace {

using numbers = std::tuple<bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long, long long,
                           unsigned long long, float, double>;
constexpr std::size_t count = std::tuple_size_v<numbers>;
using row_of_types = std::array<const type*, count>;

template <class F> row_of_types each_number(F f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return row_of_types{f(std::type_identity<std::tuple_element_t<I, numbers>>{})...};
  }(std::make_index_sequence<count>{});
}
template <class Of> std::array<row_of_types, count> each_pair(Of of) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<row_of_types, count>{
        each_number([&]<class B>(std::type_identity<B> b) { return of(std::type_identity<std::tuple_element_t<I, numbers>>{}, b); })...};
  }(std::make_index_sequence<count>{});
}

const row_of_types& known() {
  static const row_of_types all = each_number([]<class A>(std::type_identity<A>) { return describe<A>(); });
  return all;
}
std::size_t number_of(const type* t) {
  const auto at = std::find(known().begin(), known().end(), t);
  if (at != known().end()) return static_cast<std::size_t>(at - known().begin());
  // wchar_t and its like count as the integer of their width.
  const auto like = std::find_if(known().begin(), known().end(), [&](const type* k) { return k->k == t->k; });
  return static_cast<std::size_t>(like - known().begin());
}

template <class T> T value_of(std::uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T> std::uint64_t bits_as(T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}
template <class F> auto with_type(kind k, F f) {
  switch (k) {
    case kind::boolean: return f(std::type_identity<bool>{});
    case kind::i8: return f(std::type_identity<std::int8_t>{});
    case kind::i16: return f(std::type_identity<std::int16_t>{});
    case kind::i32: return f(std::type_identity<std::int32_t>{});
    case kind::u8: return f(std::type_identity<std::uint8_t>{});
    case kind::u16: return f(std::type_identity<std::uint16_t>{});
    case kind::u32: return f(std::type_identity<std::uint32_t>{});
    case kind::u64: return f(std::type_identity<std::uint64_t>{});
    case kind::f32: return f(std::type_identity<float>{});
    case kind::f64: return f(std::type_identity<double>{});
    default: return f(std::type_identity<std::int64_t>{});
  }
}

}  // namespace

bool is_number(const type* t) { return is_arithmetic(t->k) && !t->is_enum; }

const type* common_type(const type* a, const type* b) {
  static const auto all = each_pair([]<class A, class B>(std::type_identity<A>, std::type_identity<B>) {
    return describe<std::common_type_t<A, B>>();
  });
  return all[number_of(a)][number_of(b)];
}
const type* type_of_sum(const type* a, const type* b) {
  static const auto all =
      each_pair([]<class A, class B>(std::type_identity<A>, std::type_identity<B>) { return describe<decltype(A{} + B{})>(); });
  return all[number_of(a)][number_of(b)];
}
const type* promoted(const type* t) {
  static const row_of_types all = each_number([]<class A>(std::type_identity<A>) { return describe<decltype(+A{})>(); });
  return all[number_of(t)];
}
const type* optional_of(const type* t) {
  if (t->k == kind::string) return describe<std::optional<std::string>>();
  if (!is_number(t)) return nullptr;
  static const row_of_types all = each_number([]<class A>(std::type_identity<A>) { return describe<std::optional<A>>(); });
  const type* const optional = all[number_of(t)];
  return optional->element == t ? optional : nullptr;
}

std::uint64_t converted(std::uint64_t bits, kind from, kind to) {
  return with_type(from, [&]<class From>(std::type_identity<From>) {
    return with_type(to, [&]<class To>(std::type_identity<To>) { return bits_as(static_cast<To>(value_of<From>(bits))); });
  });
}
std::int64_t integer_of(std::uint64_t bits, kind k) { return value_of<std::int64_t>(converted(bits, k, kind::i64)); }
double floating_of(std::uint64_t bits, kind k) { return value_of<double>(converted(bits, k, kind::f64)); }
std::uint64_t bits_of(double x) { return bits_as(x); }
bool is_negative(std::uint64_t bits, kind k) { return is_signed_integer(k) && integer_of(bits, k) < 0; }

}  // namespace query::ir::typed_text
