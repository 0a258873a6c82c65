// The run-time description of a row's type: kind, size, fields with offsets, and how to copy or destroy it.
//
// Every verb hands the library the descriptions of the types it moves, so that tables, sorts, joins, files and the
// expression interpreter live in the library once instead of in every user's templates.
//
//   const query::ir::type* t = query::ir::describe<Trade>();   // t->fields()[1].name == "price"
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/chrono_types.hpp>
#include <query/record.hpp>

namespace query::ir {

enum class kind : std::uint8_t {
  opaque,  // any C++ type without a description: can be stored and moved, not looked into
  boolean, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64,
  string,    // std::string
  record,    // QUERY_RECORD, std::pair, std::tuple, query::Group: fields()
  array,     // std::array<E, N> and E[N]: element, count
  optional,  // std::optional<E>: element, access
  list,      // std::vector<E>: element, access
};

constexpr bool is_integer(kind k) { return k >= kind::i8 && k <= kind::u64; }
constexpr bool is_signed_integer(kind k) { return k >= kind::i8 && k <= kind::i64; }
constexpr bool is_floating(kind k) { return k == kind::f32 || k == kind::f64; }
constexpr bool is_arithmetic(kind k) { return k >= kind::boolean && k <= kind::f64; }

struct type;

struct field {
  std::string_view name;
  const type* of = nullptr;
  std::size_t offset = 0;  // bytes from the start of the record
};

// Lifetime of n adjacent values. A null pointer means that the type cannot do it.
struct lifetime {
  void (*construct)(void* to, std::size_t n) = nullptr;                    // value-initialised
  void (*copy)(void* to, const void* from, std::size_t n) = nullptr;       // into raw memory
  void (*move)(void* to, void* from, std::size_t n) = nullptr;             // into raw memory; `from` stays alive
  void (*copy_assign)(void* to, const void* from) = nullptr;               // one value over a living one
  void (*destroy)(void* at, std::size_t n) = nullptr;
};

// std::optional<E> and std::vector<E> seen without their C++ type.
struct access {
  const void* (*value)(const void* optional) = nullptr;       // null when empty
  void* (*emplace)(void* optional) = nullptr;                 // engages with a value-initialised E
  void (*reset)(void* optional) = nullptr;
  std::size_t (*size)(const void* list) = nullptr;
  const void* (*data)(const void* list) = nullptr;
  void* (*resize)(void* list, std::size_t n) = nullptr;       // returns the first element
};

struct type {
  kind k = kind::opaque;
  bool is_enum = false;  // or another class that is a number: a std::chrono type, which `counts` says
  bool trivial = false;  // bytes may be copied, and nothing is to be destroyed
  std::size_t size = 0, align = 1;
  std::string_view name;            // "i32", "char" (an i8 or u8), "Trade", "optional", ...
  const type* element = nullptr;    // of array, optional, list
  std::size_t count = 0;            // of array
  std::vector<field> field_list;    // of record, in declaration order
  lifetime life;
  access get;
  const type* (*own)() = nullptr;   // describe<T>: where another process of the program finds its description
  unit counts;

  std::span<const field> fields() const { return field_list; }
};

// ---------------------------------------------------------------- from C++ types
template <class T> struct array_traits : std::false_type {};
template <class E, std::size_t N> struct array_traits<std::array<E, N>> : std::true_type {
  using element = E;
  static constexpr std::size_t count = N;
};
template <class E, std::size_t N> struct array_traits<E[N]> : std::true_type {
  using element = E;
  static constexpr std::size_t count = N;
};
template <class T> inline constexpr bool is_array_v = array_traits<T>::value;
template <class T> inline constexpr bool is_optional_v = false;
template <class E> inline constexpr bool is_optional_v<std::optional<E>> = true;
template <class T> inline constexpr bool is_list_v = false;
template <class E, class A> inline constexpr bool is_list_v<std::vector<E, A>> = true;
template <class A> inline constexpr bool is_list_v<std::vector<bool, A>> = false;  // no addressable elements
template <class T> inline constexpr bool is_tuple_v = false;
template <class... E> inline constexpr bool is_tuple_v<std::tuple<E...>> = true;
template <class A, class B> inline constexpr bool is_tuple_v<std::pair<A, B>> = true;

template <class T> constexpr kind kind_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) return kind::boolean;
  else if constexpr (std::is_enum_v<U>) return kind_of<std::underlying_type_t<U>>();
  else if constexpr (counted<U>) return kind_of<number_in_t<U>>();
  else if constexpr (std::is_same_v<U, float>) return kind::f32;
  else if constexpr (std::is_same_v<U, double>) return kind::f64;
  else if constexpr (std::is_integral_v<U> && sizeof(U) <= 8) {
    constexpr int width = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return static_cast<kind>(static_cast<int>(std::is_signed_v<U> ? kind::i8 : kind::u8) + width);
  } else if constexpr (std::is_same_v<U, std::string>) return kind::string;
  else if constexpr (record<U> || is_tuple_v<U>) return kind::record;
  else if constexpr (is_array_v<U>) return kind::array;
  else if constexpr (is_optional_v<U>) return kind::optional;
  else if constexpr (is_list_v<U>) return kind::list;
  else return kind::opaque;
}

// Can the planner, the interpreter and the files look inside T, down to its leaves?
template <class T> constexpr bool described() {
  using U = std::remove_cv_t<T>;
  if constexpr (kind_of<U>() == kind::opaque) return false;
  else if constexpr (is_tuple_v<U>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (described<std::tuple_element_t<I, U>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<U>>{});
  } else if constexpr (is_array_v<U>) return described<typename array_traits<U>::element>();
  else if constexpr (is_optional_v<U> || is_list_v<U>) return described<typename U::value_type>();
  else if constexpr (record<U>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (described<field_t<U, I>>() && ...);
    }(field_indices<U>{});
  } else return true;
}
template <class T> inline constexpr bool described_v = described<T>();

template <class T> const type* describe();

// Can a T be copied with all that it holds? A std::vector says yes of whatever it holds.
template <class T> struct copies : std::is_copy_constructible<T> {};
template <class E, class A> struct copies<std::vector<E, A>> : copies<E> {};
template <class E> struct copies<std::optional<E>> : copies<E> {};
template <class E, std::size_t N> struct copies<std::array<E, N>> : copies<E> {};
template <class A, class B> struct copies<std::pair<A, B>> : std::conjunction<copies<A>, copies<B>> {};
template <class... E> struct copies<std::tuple<E...>> : std::conjunction<copies<E>...> {};
template <class T> inline constexpr bool copies_v = copies<std::remove_cv_t<T>>::value;

template <class T> lifetime lifetime_of() {
  lifetime l;
  if constexpr (!std::is_array_v<T>) {
    if constexpr (std::is_default_constructible_v<T>)
      l.construct = [](void* to, std::size_t n) { std::uninitialized_value_construct_n(static_cast<T*>(to), n); };
    if constexpr (copies_v<T>)
      l.copy = [](void* to, const void* from, std::size_t n) {
        std::uninitialized_copy_n(static_cast<const T*>(from), n, static_cast<T*>(to));
      };
    if constexpr (std::is_move_constructible_v<T>)
      l.move = [](void* to, void* from, std::size_t n) {
        std::uninitialized_move_n(static_cast<T*>(from), n, static_cast<T*>(to));
      };
    if constexpr (copies_v<T> && std::is_copy_assignable_v<T>)
      l.copy_assign = [](void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); };
    l.destroy = [](void* at, std::size_t n) { std::destroy_n(static_cast<T*>(at), n); };
  }
  return l;
}

constexpr std::string_view scalar_name(kind k) {
  constexpr std::string_view names[] = {"opaque", "bool", "i8",  "i16", "i32",    "i64",    "u8",    "u16",      "u32",
                                        "u64",    "f32",  "f64", "string", "record", "array", "optional", "list"};
  return names[static_cast<std::size_t>(k)];
}

template <class T> type make_type() {
  type t;
  t.k = kind_of<T>();
  t.is_enum = std::is_enum_v<T> || counted<T>;
  t.counts = unit_of<T>();
  // Pairs and tuples assign part by part, tuples also move so, as do records that hold one; of numbers their bytes are their values all the
  // same.
  constexpr bool copied = kind_of<T>() == kind::opaque ? std::is_trivially_copyable_v<T> : std::is_trivially_copy_constructible_v<T>;
  t.trivial = copied && std::is_trivially_destructible_v<T>;
  t.size = sizeof(T);
  t.align = alignof(T);
  t.name = std::is_same_v<T, char> ? "char" : scalar_name(t.k);  // a number like others, but text shows its letter
  if (t.counts.what != unit::of::nothing) t.name = unit_name(t.counts);
  t.life = lifetime_of<T>();
  t.own = &describe<T>;
  if constexpr (requires { T::query_parts(); }) {
    // A class of the library's own that engines look into, though no function of it is traced; undescribed parts: none.
    if (std::vector<field> parts = T::query_parts(); !parts.empty()) {
      t.k = kind::record;
      t.name = T::query_name;
      t.field_list = std::move(parts);
    }
  } else if constexpr (record<T>) {
    t.name = meta<T>::name;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (t.field_list.push_back({meta<T>::names[I], describe<field_t<T, I>>(), meta<T>::offsets[I]}), ...);
    }(field_indices<T>{});
  } else if constexpr (is_tuple_v<T>) {
    t.name = "tuple";
    // A tuple's layout is the standard library's secret, but addresses of its members do not depend on their values.
    alignas(T) static std::byte storage[sizeof(T)];
    const T& shape = *std::launder(reinterpret_cast<const T*>(storage));
    constexpr std::string_view names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"};
    constexpr bool pair = requires(const T& x) { x.first; x.second; };
    constexpr std::string_view pair_names[] = {"first", "second"};
    static_assert(std::tuple_size_v<T> <= 16, "query: a row that is a tuple has at most 16 members; use a QUERY_RECORD");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (t.field_list.push_back({pair ? pair_names[I % 2] : names[I], describe<std::tuple_element_t<I, T>>(),
                               static_cast<std::size_t>(reinterpret_cast<const std::byte*>(std::addressof(std::get<I>(shape))) - storage)}),
       ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (is_array_v<T>) {
    t.element = describe<typename array_traits<T>::element>();
    t.count = array_traits<T>::count;
  } else if constexpr (is_optional_v<T>) {
    using E = typename T::value_type;
    t.element = describe<E>();
    t.get.value = [](const void* o) -> const void* {
      const T& v = *static_cast<const T*>(o);
      return v ? std::addressof(*v) : nullptr;
    };
    if constexpr (std::is_default_constructible_v<E>)
      t.get.emplace = [](void* o) -> void* { return std::addressof(static_cast<T*>(o)->emplace()); };
    t.get.reset = [](void* o) { static_cast<T*>(o)->reset(); };
  } else if constexpr (is_list_v<T>) {
    using E = typename T::value_type;
    t.element = describe<E>();
    t.get.size = [](const void* l) { return static_cast<const T*>(l)->size(); };
    t.get.data = [](const void* l) -> const void* { return static_cast<const T*>(l)->data(); };
    if constexpr (std::is_default_constructible_v<E>)
      t.get.resize = [](void* l, std::size_t n) -> void* {
        static_cast<T*>(l)->resize(n);
        return static_cast<T*>(l)->data();
      };
  }
  return t;
}

// The description of T; one object a program, so that types are compared by address. It is never destroyed: rows that a static session
// keeps, and queries of static objects' destructors, may outlive what was made first during the program.
template <class T> const type* describe() {
  static const type& t = *new type(make_type<std::remove_cv_t<T>>());
  return &t;
}

// Of the types that most rows are made of, once, in the library.
#define QUERY_DETAIL_DESCRIBED(with)                                                                                          \
  with(bool) with(char) with(signed char) with(unsigned char) with(short) with(unsigned short) with(int) with(unsigned)        \
  with(long) with(unsigned long) with(long long) with(unsigned long long) with(float) with(double) with(std::string)           \
  with(std::optional<std::int64_t>) with(std::optional<double>)
#define QUERY_DETAIL_DESCRIBED_ELSEWHERE(T) extern template const type* describe<T>();
QUERY_DETAIL_DESCRIBED(QUERY_DETAIL_DESCRIBED_ELSEWHERE)
#undef QUERY_DETAIL_DESCRIBED_ELSEWHERE

}  // namespace query::ir
