// What a user's function is to the library: called natively, traced where it may be, opaque where it says so.
//
//   opaque(f)             f is a black box: it runs natively and is never looked into
//   must_trace(f)         f has to be traceable: user_error with the reason where it is not
//   with(f, captures...)  f(row..., captures...): captures that can be sent to another process, for a captureless f
//   accelerated(f, d)     f natively, the device function d on the GPU (accelerated.hpp)
//
//   trades.where(query::must_trace([](auto t) { return t.price > 3; }))
//   trades.where(query::with([](auto t, double limit) { return t.price > limit; }, limit))
//
// A function that is noexcept is opaque: tracing gives up by throwing. So must not be a generic helper that a traced function
// calls and that makes plain values of traced ones: it would end the program.
//
// trace<Row...>(f) calls f with symbolic rows and gives its expression or the reason why there is none. check_callable
// <F, Row...>() explains at compile time what is wrong with a function that cannot be called. result_t<F, Row...> is what
// the result is stored as: string_view becomes string, references and views become values.
#pragma once

#include <query/detail/call.hpp>
#include <query/detail/nested.hpp>

namespace query {

template <class F> class opaque_function {
 public:
  explicit opaque_function(F f) : f_(std::move(f)) {}
  template <class... A> requires std::is_invocable_v<const F&, A...>
  decltype(auto) operator()(A&&... a) const noexcept(std::is_nothrow_invocable_v<const F&, A...>) { return f_(std::forward<A>(a)...); }
  const F& inner() const { return f_; }

 private:
  [[no_unique_address]] F f_;
};
template <class F> class must_trace_function {
 public:
  explicit must_trace_function(F f) : f_(std::move(f)) {}
  template <class... A> requires std::is_invocable_v<const F&, A...>
  decltype(auto) operator()(A&&... a) const noexcept(std::is_nothrow_invocable_v<const F&, A...>) { return f_(std::forward<A>(a)...); }
  const F& inner() const { return f_; }

 private:
  [[no_unique_address]] F f_;
};
template <class F, class... C> class with_function {
 public:
  with_function(F f, C... c) : f_(std::move(f)), captures_(std::move(c)...) {}
  template <class... A> requires std::is_invocable_v<const F&, A..., const C&...>
  decltype(auto) operator()(A&&... a) const noexcept(std::is_nothrow_invocable_v<const F&, A..., const C&...>) {
    return std::apply([&](const C&... c) -> decltype(auto) { return f_(std::forward<A>(a)..., c...); }, captures_);
  }
  const F& inner() const { return f_; }
  const std::tuple<C...>& captures() const { return captures_; }

 private:
  [[no_unique_address]] F f_;
  std::tuple<C...> captures_;
};

namespace detail {
// What means something in this process only: pointers, but for string literals, and std::reference_wrapper.
template <class C> inline constexpr bool refers = (std::is_pointer_v<C> && !std::is_same_v<C, const char*>) || std::is_member_pointer_v<C>;
template <class C> requires requires(const C& c) { { c.get() } -> std::same_as<typename C::type&>; }
inline constexpr bool refers<C> = true;
}  // namespace detail

template <class F> auto opaque(F f) { return opaque_function<F>(std::move(f)); }
template <class F> auto must_trace(F f) { return must_trace_function<F>(std::move(f)); }
template <class F, class... C> auto with(F f, C... captures) {
  static_assert(std::is_empty_v<F>,
                "query::with(f, captures...): f must capture nothing itself; pass what it needs after it and take it as "
                "parameters: with([](auto t, double k) {...}, k)");
  static_assert(!(detail::refers<C> || ...), "query::with(f, captures...): captures a pointer or a reference, which cannot be "
                                             "shipped: pass the value, or query::broadcast(rows)");
  return with_function<F, C...>(std::move(f), std::move(captures)...);
}

namespace detail {

template <class F> struct wrapper {
  static constexpr bool opaque = false, must_trace = false, generic = !names_its_types<F>;
};
template <class F> struct wrapper<opaque_function<F>> {
  static constexpr bool opaque = true, must_trace = false, generic = false;
};
template <class F> struct wrapper<must_trace_function<F>> : wrapper<F> {
  static constexpr bool must_trace = true;
};
template <class F, class... C> struct wrapper<with_function<F, C...>> : wrapper<F> {};

// The compiler's name of T, for messages.
template <class T> constexpr std::string_view type_name() {
  std::string_view s = __PRETTY_FUNCTION__;
  s.remove_prefix(s.find("T = ") + 4);
  const std::size_t semicolon = s.find(';');  // g++ adds "; std::string_view = ..."
  return s.substr(0, semicolon == s.npos ? s.rfind(']') : semicolon);
}
// The first part of T without a description: its name, and whether a QUERY_RECORD can describe it.
struct undescribed_part {
  std::string_view name;
  bool is_struct = false;
  constexpr bool empty() const { return name.empty(); }
};
template <class T> constexpr undescribed_part undescribed() {
  using U = std::remove_cv_t<T>;
  if constexpr (ir::described_v<U>) return {};
  else if constexpr (record<U> || ir::is_tuple_v<U>) {
    constexpr auto members = []<class... E>(std::tuple<E...>*) {
      undescribed_part first;
      (void)((first = undescribed<E>(), !first.empty()) || ...);
      return first;
    };
    if constexpr (record<U>) return members(static_cast<typename meta<U>::types*>(nullptr));
    else return []<template <class...> class L, class... E>(L<E...>*) constexpr {
      undescribed_part first;
      (void)((first = undescribed<E>(), !first.empty()) || ...);
      return first;
    }(static_cast<U*>(nullptr));
  } else if constexpr (ir::is_array_v<U>) return undescribed<typename ir::array_traits<U>::element>();
  else if constexpr (ir::is_optional_v<U> || ir::is_list_v<U>) return undescribed<typename U::value_type>();
  else if constexpr (requires { typename U::query_part_types; }) {
    if constexpr (constexpr undescribed_part part = undescribed<typename U::query_part_types>(); !part.empty()) return part;
    else return {type_name<U>(), true};
  } else return {type_name<U>(), std::is_class_v<U>};
}

// Rows that functions are traced for: described ones, and groups with their rows (detail/traced_groups.hpp).
template <class T> inline constexpr bool has_twin = ir::described_v<T>;
template <class T> requires requires { typename T::query_part_types; }
inline constexpr bool has_twin<T> = ir::described_v<typename T::query_part_types>;

ir::traced without_trace(std::string reason, bool must);
// Traces and checks the result: its type, rows that escaped; throws if the function must trace.
ir::traced run_checked_trace(const ir::node* (*call)(const void* f), const void* f, bool must);
// Why functions of rows of these types are not traced.
std::string no_record(const undescribed_part& part);
template <class... Row> std::string no_record() {
  undescribed_part part;
  (void)((part = undescribed<Row>(), !part.empty()) || ...);
  return no_record(part);
}
std::string types_differ(std::string_view traced, std::string_view native);

// f of symbolic rows.
template <class F, class... Row> struct symbolic_call {
  static const ir::node* run(const void* f) {
    return with_rows(*static_cast<const F*>(f), std::make_integer_sequence<std::uint32_t, sizeof...(Row)>{});
  }
  template <std::uint32_t... I> static const ir::node* with_rows(const F& f, std::integer_sequence<std::uint32_t, I...>) {
    return of(f, make_twin<Row>(row_node(ir::describe<Row>(), I))...);
  }
  static const ir::node* of(const F& f, const twin_t<Row>&... row) { return to_node(f(row...)); }
};

template <class F, class... Row> ir::traced trace_generic(const F& f, bool must) {
  if constexpr (!is_callable<const F&, const twin_t<Row>&...>) {
    return without_trace("it cannot be called with a traced row (a constrained parameter, or std::get of a record?)", must);
  } else if constexpr (std::is_nothrow_invocable_v<const F&, const twin_t<Row>&...>) {
    return without_trace("it is noexcept, and a trace gives up by throwing", must);
  } else {
    using X = std::invoke_result_t<const F&, const twin_t<Row>&...>;
    using R = result_of<F, Row...>;
    if constexpr (!std::is_same_v<held_t<X>, R>) {
      return without_trace(types_differ(type_name<held_t<X>>(), type_name<R>()), must);
    } else {
      return run_checked_trace(&symbolic_call<F, Row...>::run, std::addressof(f), must);
    }
  }
}

}  // namespace detail

// What a verb stores as the result of f: an owning value.
template <class F, class... Row> using result_t = detail::result_of<F, Row...>;

// Explains a function that cannot be called with rows of these types.
template <class F, class... Row> constexpr void check_callable() {
  if constexpr (!std::is_invocable_v<const F&, const Row&...>) {
    static_assert(!std::is_invocable_v<F&, const Row&...>,
                  "query: this function is `mutable` or its operator() is not const: functions are called through const, from many "
                  "threads. Remove `mutable`; keep state in the rows or in a terminal verb.");
    static_assert(std::is_invocable_v<F&, const Row&...> || std::is_invocable_v<const F&, const Row&...>,
                  "query: this function cannot be called with `const Row&`. Take the row as `auto t`, `const auto& t` or `const Row& t`.");
  } else {
    static_assert(!std::is_void_v<std::invoke_result_t<const F&, const Row&...>>,
                  "query: this function gives nothing. Return a value; for actions on rows there is for_each.");
  }
}

// The expression of f over rows of these types, or why there is none. Calls f with symbolic rows, once for each path and
// all of it twice; the result does not depend on the thread. Throws user_error if f is a must_trace(...) that fails.
template <class... Row, class F> ir::traced trace(const F& f) {
  using W = detail::wrapper<F>;
  if constexpr (W::opaque) return detail::without_trace("query::opaque", W::must_trace);
  else if constexpr (!(detail::has_twin<Row> && ...)) {
    return detail::without_trace(detail::no_record<Row...>(), W::must_trace);
  } else if constexpr (!W::generic) return detail::without_trace("its parameter is not generic (write `auto`)", W::must_trace);
  else return detail::trace_generic<F, Row...>(f, W::must_trace);
}

}  // namespace query
