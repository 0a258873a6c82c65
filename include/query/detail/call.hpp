// How the native loops call a user's function with a row: by reference, as a view of columns, or as a value.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/type.hpp>
#include <query/record.hpp>

#define QUERY_INLINE __attribute__((always_inline))

namespace query::detail {

template <class X> inline constexpr bool is_row_view = has_form<X, as_reference>;

// std::reference_wrapper and its like.
template <class R> concept refers_to_value = requires(const R& r) { { r.get() } -> std::same_as<typename R::type&>; };

// What a result is kept as: views become owners, references become values. Rows live as long as the call that they are made for;
// what is stored outlives them.
template <class R> struct stored { using type = R; };
template <class C, class Traits> struct stored<std::basic_string_view<C, Traits>> { using type = std::basic_string<C, Traits>; };
template <> struct stored<const char*> { using type = std::string; };
template <> struct stored<char*> { using type = std::string; };
template <std::size_t N> struct stored<char[N]> { using type = std::string; };
template <> struct stored<std::vector<bool>::reference> { using type = bool; };
template <refers_to_value R> struct stored<R> : stored<std::remove_cv_t<typename R::type>> {};
template <class R> requires is_row_view<R> struct stored<R> { using type = typename R::query_row_type; };
template <class A, class B> struct stored<std::pair<A, B>> {
  using type = std::pair<typename stored<std::remove_cvref_t<A>>::type, typename stored<std::remove_cvref_t<B>>::type>;
};
template <class... A> struct stored<std::tuple<A...>> { using type = std::tuple<typename stored<std::remove_cvref_t<A>>::type...>; };
template <class R> using stored_t = typename stored<std::remove_cvref_t<R>>::type;
template <class E, std::size_t N> struct stored<std::span<E, N>> { using type = std::vector<stored_t<E>>; };
template <class E, std::size_t N> requires(!std::is_same_v<E, char>) struct stored<E[N]> { using type = std::array<stored_t<E>, N>; };
template <class E> inline constexpr bool stored_as_other = !std::is_same_v<stored_t<E>, E>;
template <class E> requires stored_as_other<E> struct stored<std::optional<E>> { using type = std::optional<stored_t<E>>; };
template <class E, std::size_t N> requires stored_as_other<E> struct stored<std::array<E, N>> { using type = std::array<stored_t<E>, N>; };
template <class E, class A> requires stored_as_other<E> struct stored<std::vector<E, A>> { using type = std::vector<stored_t<E>>; };

// Text is one value, though it has begin() and end().
template <class R> inline constexpr bool is_text_value = false;
template <class C, class... X> inline constexpr bool is_text_value<std::basic_string<C, X...>> = true;

// Can f be called with these? Asked twice: to clang, a function whose body does not compile is an error where it is first looked at,
// and cannot be called from then on.
template <bool, class F, class... X> inline constexpr bool still_callable = requires { std::declval<F>()(std::declval<X>()...); };
template <class F, class... X>
inline constexpr bool is_callable = std::is_invocable_v<F, X...> && still_callable<std::is_invocable_v<F, X...>, F, X...>;

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

template <bool AsView, class T> QUERY_INLINE inline decltype(auto) view_if(const T& t) {
  if constexpr (AsView) return view_of(t);
  else return (t);
}

// What f is called with for a row: the row, a view of it, or a row made of a view. The latter two are temporaries that f's result may
// refer to: `use(call(f, seen_by<F>(row)))` in one expression keeps them until the result is used.
template <class F, class R> QUERY_INLINE inline decltype(auto) seen_by(const R& row) {
  if constexpr (!is_row_view<R>) return view_if<takes_views<F, R>>(row);
  else if constexpr (!names_its_types<F> && std::is_invocable_v<const F&, const R&>) return (row);
  else return row_of(row);
}
// Of two rows, both are views or none is.
template <class F, class L, class R> inline constexpr bool takes_two_views = [] {
  if constexpr (record<L> && record<R>)
    return (!std::is_trivially_copyable_v<L> || !std::is_trivially_copyable_v<R>) && !names_its_types<F> &&
           std::is_invocable_v<const F&, const row_view<L>&, const row_view<R>&>;
  else return false;
}();

template <class F, class... Row> QUERY_INLINE inline decltype(auto) call(const F& f, const Row&... seen) { return f(seen...); }

template <class F, class R> auto called_with(const F& f, const R& row) -> decltype(call(f, seen_by<F>(row)));
template <class F, class L, class R> auto called_with(const F& f, const L& l, const R& r)
    -> decltype(call(f, view_if<takes_two_views<F, L, R>>(l), view_if<takes_two_views<F, L, R>>(r)));
// What a verb's function gives for rows of these types.
template <class F, class... T> using given_by = decltype(called_with(std::declval<const F&>(), std::declval<const T&>()...));
// The row type that it is stored as.
template <class F, class... T> using result_of = stored_t<given_by<F, T...>>;

template <class T> inline constexpr bool is_vector = ir::is_list_v<T> || std::is_same_v<T, std::vector<bool>>;

// A result as the type that is stored.
template <class T, class R> QUERY_INLINE inline decltype(auto) as_stored(R&& r) {
  using V = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<V, T>) return std::forward<R>(r);
  else if constexpr (is_row_view<V>) return row_of(r);
  else if constexpr (refers_to_value<V>) return T(as_stored<T>(r.get()));
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
  } else if constexpr (is_vector<T> && requires { r.size(); r.begin(); }) {
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
