// The key of a group in its function, g.key(): as a whole, or put together from the parts of a tuple, pair or record.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <query/detail/aggregate_calls.hpp>
#include <query/detail/aggregate_expression.hpp>
#include <query/detail/row_fields.hpp>

namespace query {

namespace agg {

// A part of a composite key.
template <class U> struct key_part : without_rows {
  std::size_t offset = 0;
  template <class T> using state = nothing;
  template <class S, class T> void step(S&, const T&) const {}
  template <class S> static void merge(S&, S&) {}
  template <class T, class K, class S> U value(const K& k, S&) const {
    return *reinterpret_cast<const U*>(reinterpret_cast<const std::byte*>(&k) + offset);
  }
};
template <class U> struct to_key_part { using type = key_part<U>; };

template <class X> inline constexpr bool is_key_shape = detail::has_form<X, to_key_part>;
template <class... U> inline constexpr bool is_key_shape<std::tuple<key_part<U>...>> = sizeof...(U) > 0;
template <class A, class B> inline constexpr bool is_key_shape<std::pair<key_part<A>, key_part<B>>> = true;
// A key put together from its parts, which the function may have exchanged. Like the key, it has no state.
template <class Fn, class... U> struct key_of_parts : without_rows {
  std::tuple<key_part<U>...> parts;
  explicit key_of_parts(std::tuple<key_part<U>...> p) : parts(std::move(p)) {}
  template <class T> using state = nothing;
  template <class S, class T> void step(S&, const T&) const {}
  template <class S> static void merge(S&, S&) {}
  template <class T, class K, class S> auto value(const K& k, S& s) const {
    return std::apply([&](const auto&... part) { return Fn{}(part.template value<T>(k, s)...); }, parts);
  }
};
template <class K> struct record_maker {
  template <class... V> K operator()(V... v) const { return K{std::move(v)...}; }
};
template <class... U> struct operand_of<std::tuple<key_part<U>...>> { using type = key_of_parts<tupler, U...>; };
template <class A, class B> struct operand_of<std::pair<key_part<A>, key_part<B>>> {
  struct type : key_of_parts<pairer, A, B> {
    explicit type(const std::pair<key_part<A>, key_part<B>>& x) : key_of_parts<pairer, A, B>(std::tuple(x.first, x.second)) {}
  };
};
template <class K, class Fields> struct key_of_fields;
template <class K, class... U> struct key_of_fields<K, std::tuple<U...>> { using type = key_of_parts<record_maker<K>, U...>; };
template <class X> requires detail::has_form<X, to_key_part> struct operand_of<X> {
  using K = typename X::query_row_type;
  using whole = typename key_of_fields<K, typename meta<K>::types>::type;
  struct type : whole {
    explicit type(const X& x) : whole(std::apply([](const auto&... part) { return std::tuple(part...); }, meta<K>::fields(x))) {}
  };
};

// Tuples and pairs within another.
template <class X> inline constexpr bool holds_aggregate = deferred<X> || is_key_shape<X>;
template <class... E> inline constexpr bool holds_aggregate<std::tuple<E...>> = (holds_aggregate<std::decay_t<E>> || ...);
template <class A, class B>
inline constexpr bool holds_aggregate<std::pair<A, B>> = holds_aggregate<std::decay_t<A>> || holds_aggregate<std::decay_t<B>>;
template <class... E> requires holds_aggregate<std::tuple<E...>> struct operand_of<std::tuple<E...>> {
  struct type : apply<tupler, operand_t<E>...> {
    explicit type(const std::tuple<E...>& x)
        : apply<tupler, operand_t<E>...>(std::apply([](const auto&... e) { return make_apply(tupler{}, e...); }, x)) {}
  };
};
template <class A, class B> requires holds_aggregate<std::pair<A, B>> struct operand_of<std::pair<A, B>> {
  struct type : apply<pairer, operand_t<A>, operand_t<B>> {
    explicit type(const std::pair<A, B>& x) : apply<pairer, operand_t<A>, operand_t<B>>(make_apply(pairer{}, x.first, x.second)) {}
  };
};

template <class K> struct key_parts;
template <class... U> struct key_parts<std::tuple<U...>> { using type = std::tuple<key_part<U>...>; };
template <class A, class B> struct key_parts<std::pair<A, B>> { using type = std::pair<key_part<A>, key_part<B>>; };

template <class K> auto key_expression() {
  const ir::type* t = ir::describe<K>();
  if constexpr (record<K>) {
    typename meta<K>::template shape<to_key_part> s;
    auto parts = meta<K>::fields(s);
    [&]<std::size_t... I>(std::index_sequence<I...>) { ((std::get<I>(parts).offset = t->field_list[I].offset), ...); }(field_indices<K>{});
    return s;
  } else if constexpr (ir::is_tuple_v<K>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      typename key_parts<K>::type s;
      ((std::get<I>(s).offset = t->field_list[I].offset), ...);
      return s;
    }(std::make_index_sequence<std::tuple_size_v<K>>{});
  } else {
    (void)t;
    return key{};
  }
}

}  // namespace agg

namespace detail {
template <class X> requires agg::is_key_shape<X> inline constexpr bool is_deferred<X> = true;
}  // namespace detail

}  // namespace query
