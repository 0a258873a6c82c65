// How the native loops call a user's function with a row: by reference, as a view of columns, or as a value.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <query/detail/type.hpp>
#include <query/record.hpp>

#define QUERY_INLINE __attribute__((always_inline))

namespace query::detail {

template <class X> inline constexpr bool is_row_view = has_form<X, as_reference>;

// What a result is kept as: views become owners, references become values.
template <class R> struct stored { using type = R; };
template <> struct stored<std::string_view> { using type = std::string; };
template <> struct stored<const char*> { using type = std::string; };
template <class R> requires is_row_view<R> struct stored<R> { using type = typename R::query_row_type; };
template <class A, class B> struct stored<std::pair<A, B>> {
  using type = std::pair<typename stored<std::remove_cvref_t<A>>::type, typename stored<std::remove_cvref_t<B>>::type>;
};
template <class... A> struct stored<std::tuple<A...>> { using type = std::tuple<typename stored<std::remove_cvref_t<A>>::type...>; };
template <class R> using stored_t = typename stored<std::remove_cvref_t<R>>::type;
template <class E> inline constexpr bool stored_as_other = !std::is_same_v<stored_t<E>, E>;
template <class E> requires stored_as_other<E> struct stored<std::optional<E>> { using type = std::optional<stored_t<E>>; };
template <class E, std::size_t N> requires stored_as_other<E> struct stored<std::array<E, N>> { using type = std::array<stored_t<E>, N>; };
template <class E, class A> requires stored_as_other<E> struct stored<std::vector<E, A>> { using type = std::vector<stored_t<E>>; };

// A lambda whose parameters are not `auto` names its row type.
template <class F> concept names_its_types = requires { &std::remove_cvref_t<F>::operator(); } || !std::is_class_v<std::remove_cvref_t<F>>;

template <record T> QUERY_INLINE inline row_view<T> view_of(const T& t) {
  return std::apply([](const auto&... f) QUERY_INLINE { return row_view<T>{f...}; }, meta<T>::fields(t));
}
template <class V> QUERY_INLINE inline auto row_of(const V& v) {
  using T = typename V::query_row_type;
  return std::apply([](const auto&... f) QUERY_INLINE { return T{f...}; }, meta<T>::fields(v));
}

// Rows with strings or lists are handed to `auto` parameters as views: `[](auto t)` must not copy a string a row.
template <class F, class T>
concept takes_views =
    record<T> && !std::is_trivially_copyable_v<T> && !names_its_types<F> && std::is_invocable_v<const F&, const row_view<T>&>;

// Calls f with views that end with the call: a reference to one of them is given back as a view by value.
template <class F, class... V> QUERY_INLINE inline decltype(auto) call_with_views(const F& f, const V&... views) {
  using X = std::invoke_result_t<const F&, const V&...>;
  if constexpr (is_row_view<std::remove_cvref_t<X>>) return std::remove_cvref_t<X>(f(views...));
  else return f(views...);
}

template <class F, class R> QUERY_INLINE inline decltype(auto) call(const F& f, const R& row) {
  if constexpr (is_row_view<R>) {
    if constexpr (!names_its_types<F> && std::is_invocable_v<const F&, const R&>) return f(row);
    else return f(row_of(row));
  } else if constexpr (takes_views<F, R>) {
    return call_with_views(f, view_of(row));
  } else {
    return f(row);
  }
}
template <class F, class L, class R> QUERY_INLINE inline decltype(auto) call(const F& f, const L& l, const R& r) {
  if constexpr (is_row_view<L>) return call(f, row_of(l), r);
  else if constexpr (record<L> && record<R>) {
    if constexpr ((!std::is_trivially_copyable_v<L> || !std::is_trivially_copyable_v<R>) && !names_its_types<F> &&
                  std::is_invocable_v<const F&, const row_view<L>&, const row_view<R>&>)
      return call_with_views(f, view_of(l), view_of(r));
    else return f(l, r);
  } else return f(l, r);
}

// The row type that a verb's function gives.
template <class F, class... T> using result_of = stored_t<decltype(call(std::declval<const F&>(), std::declval<const T&>()...))>;

// A result as the type that is stored.
template <class T, class R> QUERY_INLINE inline decltype(auto) as_stored(R&& r) {
  using V = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<V, T>) return std::forward<R>(r);
  else if constexpr (is_row_view<V>) return row_of(r);
  else if constexpr (ir::is_tuple_v<T> && !std::is_constructible_v<T, R>) {  // views in a pair or tuple
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T(as_stored<std::tuple_element_t<I, T>>(std::get<I>(std::forward<R>(r)))...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (ir::is_optional_v<T> && ir::is_optional_v<V>) {
    return r ? T(as_stored<typename T::value_type>(*r)) : T();
  } else if constexpr (ir::is_array_v<T> && ir::is_array_v<V>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T{as_stored<typename T::value_type>(r[I])...};
    }(std::make_index_sequence<ir::array_traits<T>::count>{});
  } else if constexpr (ir::is_list_v<T> && ir::is_list_v<V>) {
    T all;
    all.reserve(r.size());
    for (const auto& e : r) all.push_back(as_stored<typename T::value_type>(e));
    return all;
  } else return T(std::forward<R>(r));
}

// Destroys the results made so far when a user's function throws part way through a batch.
template <class R> class made_so_far {
 public:
  explicit made_so_far(R* at) : at_(at) {}
  made_so_far(const made_so_far&) = delete;
  made_so_far& operator=(const made_so_far&) = delete;
  ~made_so_far() {
    if constexpr (!std::is_trivially_destructible_v<R>) std::destroy_n(at_, n_);
  }
  template <class X> QUERY_INLINE void add(std::size_t i, X&& x) {
    ::new (static_cast<void*>(at_ + i)) R(as_stored<R>(std::forward<X>(x)));
    if constexpr (!std::is_trivially_destructible_v<R>) ++n_;
  }
  void keep() { n_ = 0; }

 private:
  R* at_;
  std::size_t n_ = 0;
};

}  // namespace query::detail
