// The type in which the keys of a join's two sides meet, and the key of either side as that type.
//
// Numbers meet in a type that holds those of both. A std::uint64_t and a signed integer meet in std::optional<std::uint64_t>: a
// negative number equals none of the other side, and a null matches nothing. Pairs, tuples, arrays and optionals meet part by part,
// two record types whose fields have the same names as a tuple of these.
//
//   left.join(right, [](auto l) { return std::tuple(l.id, l.name); }, [](auto r) { return std::tuple(r.id, r.name); });
//   // std::int32_t and std::int64_t ids: both keys are a std::tuple<std::int64_t, std::string>
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/deferred.hpp>
#include <query/function.hpp>

namespace query::detail {

template <class T> struct key_parts { using type = void; };
template <class... E> struct key_parts<std::tuple<E...>> { using type = std::tuple<E...>; };
template <class A, class B> struct key_parts<std::pair<A, B>> { using type = std::tuple<A, B>; };
template <record T> struct key_parts<T> { using type = typename meta<T>::types; };
template <class T> using key_parts_t = typename key_parts<T>::type;
template <class T> constexpr std::size_t count_key_parts() {
  if constexpr (std::is_void_v<key_parts_t<T>>) return 0;
  else return std::tuple_size_v<key_parts_t<T>>;
}
// Do the parts of one correspond to those of the other?
template <class A, class B> constexpr bool parts_correspond() {
  if constexpr (count_key_parts<A>() == 0 || count_key_parts<A>() != count_key_parts<B>()) return false;
  else if constexpr (record<A> && record<B>) {
    for (std::size_t i = 0; i < meta<A>::size; ++i)
      if (std::string_view(meta<A>::names[i]) != std::string_view(meta<B>::names[i])) return false;
    return true;
  } else return !record<A> && !record<B>;
}

// own: for an equality and a hash of the user's, which never see a null that is none.
template <bool Own, class A, class B> constexpr auto common_number() {
  using C = std::common_type_t<A, B>;
  constexpr bool wide = sizeof(A) >= 4 && sizeof(B) >= 4;
  if constexpr (std::is_floating_point_v<C>) {
    constexpr bool loses = std::is_same_v<C, float> && wide && !(std::is_floating_point_v<A> && std::is_floating_point_v<B>);
    return std::type_identity<std::conditional_t<loses, double, C>>{};
  } else if constexpr (std::is_signed_v<C> || std::is_signed_v<A> == std::is_signed_v<B> || Own) {
    return std::type_identity<C>{};
  } else if constexpr (sizeof(C) < sizeof(std::int64_t)) {
    return std::type_identity<std::int64_t>{};
  } else {
    return std::type_identity<std::optional<C>>{};
  }
}
template <class T> struct or_null { using type = std::optional<T>; };
template <class T> struct or_null<std::optional<T>> { using type = std::optional<T>; };
template <> struct or_null<void> { using type = void; };

template <bool Own, class A, class B> constexpr auto find_common_key();
template <bool Own, class A, class B> using find_common_key_t = typename decltype(find_common_key<Own, A, B>())::type;
template <bool Own, class A, class B, std::size_t... I> constexpr auto common_parts(std::index_sequence<I...>) {
  using Parts = key_parts_t<A>;
  using Q = key_parts_t<B>;
  if constexpr ((std::is_void_v<find_common_key_t<Own, std::tuple_element_t<I, Parts>, std::tuple_element_t<I, Q>>> || ...)) {
    return std::type_identity<void>{};
  } else if constexpr (requires(A a, B b) { a.first; b.first; } && !record<A>) {
    return std::type_identity<std::pair<find_common_key_t<Own, std::tuple_element_t<I, Parts>, std::tuple_element_t<I, Q>>...>>{};
  } else {
    return std::type_identity<std::tuple<find_common_key_t<Own, std::tuple_element_t<I, Parts>, std::tuple_element_t<I, Q>>...>>{};
  }
}
template <bool Own, class A, class B> constexpr auto find_common_key() {
  if constexpr (std::is_same_v<A, B>) {
    return std::type_identity<A>{};
  } else if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) {
    return common_number<Own, A, B>();
  } else if constexpr (ir::is_optional_v<A> || ir::is_optional_v<B>) {
    return or_null<find_common_key_t<Own, typename present<A>::type, typename present<B>::type>>{};
  } else if constexpr (ir::is_array_v<A> && ir::is_array_v<B>) {
    using K = find_common_key_t<Own, typename ir::array_traits<A>::element, typename ir::array_traits<B>::element>;
    if constexpr (std::is_void_v<K> || ir::array_traits<A>::count != ir::array_traits<B>::count) return std::type_identity<void>{};
    else return std::type_identity<std::array<K, ir::array_traits<A>::count>>{};
  } else if constexpr (parts_correspond<A, B>()) {
    return common_parts<Own, A, B>(std::make_index_sequence<count_key_parts<A>()>{});
  } else {
    return std::type_identity<void>{};
  }
}
// void: they do not meet. Same: nothing, or an equality and a hash of the user's.
template <class A, class B, class... Same> using common_key_t = find_common_key_t<(sizeof...(Same) > 0), A, B>;

// The number of the first parts that do not meet; ~0 where the keys as a whole are of different kinds.
template <class A, class B> constexpr std::size_t first_part_apart() {
  if constexpr (!parts_correspond<A, B>()) {
    return ~std::size_t{0};
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      std::size_t first = ~std::size_t{0};
      (void)((std::is_void_v<find_common_key_t<false, std::tuple_element_t<I, key_parts_t<A>>, std::tuple_element_t<I, key_parts_t<B>>>> &&
              (first = I, true)) || ...);
      return first;
    }(std::make_index_sequence<count_key_parts<A>()>{});
  }
}

// ---------------------------------------------------------------- a key as the common type
// A negative number for which the other side has no equal.
template <class V, class K> constexpr bool may_equal_none() {
  if constexpr (std::is_integral_v<V> && ir::is_optional_v<K>) return std::is_signed_v<V> && std::is_unsigned_v<typename K::value_type>;
  else return false;
}
template <std::size_t I, class V> decltype(auto) key_part(V& v) {
  if constexpr (requires { std::get<I>(v); }) return std::get<I>(v);
  else return std::get<I>(meta<held_t<V>>::fields(v));
}
template <class K, class V> K to_key(V&& v) {
  using X = std::remove_cvref_t<V>;
  if constexpr (std::is_same_v<X, K>) return std::forward<V>(v);
  else if constexpr (ir::is_optional_v<X>) return v ? to_key<K>(*std::forward<V>(v)) : K();
  else if constexpr (may_equal_none<X, K>()) return v < 0 ? K() : K(static_cast<typename K::value_type>(v));
  else if constexpr (ir::is_optional_v<K>) return K(to_key<typename K::value_type>(std::forward<V>(v)));
  else if constexpr (std::is_arithmetic_v<K>) return static_cast<K>(v);
  else if constexpr (ir::is_array_v<K>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return K{to_key<typename K::value_type>(std::move(v[I]))...};
    }(std::make_index_sequence<ir::array_traits<K>::count>{});
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return K(to_key<std::tuple_element_t<I, K>>(std::move(key_part<I>(v)))...);
    }(std::make_index_sequence<std::tuple_size_v<K>>{});
  }
}
// The same of what a traced function gives.
template <class K, class X> const ir::node* key_node(const X& x) {
  auto& a = ir::current_arena();
  using V = held_t<X>;
  const ir::type* t = ir::describe<K>();
  if constexpr (std::is_same_v<V, K>) {
    return to_node(x);
  } else if constexpr (ir::is_optional_v<V>) {
    using E = typename V::value_type;
    const ir::node* o = to_node(x);
    const auto value = make_twin<E>(a.put(ir::op::value, ir::describe<E>(), {o}));
    return ir::make_select(a, a.put(ir::op::has_value, ir::describe<bool>(), {o}), key_node<K>(value), a.put(ir::op::null, t));
  } else if constexpr (may_equal_none<V, K>()) {
    const ir::node* n = node_as<V>(x);
    return ir::make_select(a, binary(ir::op::lt, ir::describe<bool>(), n, literal(V{})), a.put(ir::op::null, t),
                           a.put(ir::op::some, t, {ir::make_cast(a, n, ir::describe<typename K::value_type>())}));
  } else if constexpr (ir::is_optional_v<K>) {
    return a.put(ir::op::some, t, {key_node<typename K::value_type>(x)});
  } else if constexpr (std::is_arithmetic_v<K>) {
    return node_as<K>(x);
  } else if constexpr (ir::is_array_v<K>) {
    std::vector<const ir::node*> kids;
    for (const auto& e : x) kids.push_back(key_node<typename K::value_type>(e));
    return make_array(t, std::move(kids));
  } else {
    std::vector<const ir::node*> kids;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (kids.push_back(key_node<std::tuple_element_t<I, K>>(key_part<I>(x))), ...);
    }(std::make_index_sequence<std::tuple_size_v<K>>{});
    return make_array(t, std::move(kids));
  }
}

// The key function f with its key as a K.
template <class K, class F> struct as_key {
  F f;
  template <class Row> requires std::is_invocable_v<const F&, const Row&>
  auto operator()(const Row& row) const noexcept(std::is_nothrow_invocable_v<const F&, const Row&>) {
    if constexpr (is_twin_v<Row>) return make_twin<K>(key_node<K>(f(row)));
    else return to_key<K>(result_of<F, Row>(as_stored<result_of<F, Row>>(call(f, row))));
  }
};
template <class K, class F> struct wrapper<as_key<K, F>> : wrapper<F> {};

// Do engines make a K of a V by themselves, as they store a number, or the value of an optional?
template <class V, class K> constexpr bool stored_as_key() {
  using number = typename present<V>::type;
  if constexpr (std::is_same_v<V, K> || (std::is_arithmetic_v<V> && std::is_arithmetic_v<K>)) return true;
  else if constexpr (!ir::is_optional_v<K>) return false;
  else return std::is_same_v<number, typename K::value_type> ||
              (std::is_arithmetic_v<number> && std::is_arithmetic_v<typename K::value_type> && !may_equal_none<number, K>());
}
template <class K, class V, class F> auto key_as(const F& f) {
  if constexpr (stored_as_key<V, K>()) return f;
  else return as_key<K, F>{f};
}

}  // namespace query::detail
