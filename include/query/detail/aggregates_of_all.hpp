// Aggregates of all rows of a query, of which there may be none: what has no value then (the smallest, the mean, the row with the
// largest f...) is a std::optional. A group has a row at least, and its aggregates are plain.
//
//   rows.reduce([](auto g) { return g.max(f); })                              std::optional, empty of no rows
//   rows.reduce([](auto g) { return g.max(f) - g.min(f); })                   the same: what is made of them has no value either
//   rows.reduce([](auto g) { return std::tuple(g.count(), g.max(f)); })       part by part: std::tuple<std::int64_t, std::optional<...>>
//   rows.reduce([](auto g) { return make<Stats>(g.count(), g.max(f)); })      field by field: an optional field is empty, a
//                                                                             floating-point one is NaN, any other a user_error
#pragma once

#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <query/detail/aggregate_calls.hpp>
#include <query/detail/aggregate_expression.hpp>

namespace query::agg {

template <class A> inline constexpr bool is_computed = false;
template <class Fn, class... Part> inline constexpr bool is_computed<apply<Fn, Part...>> = true;
// A record of values; one within another sees to its own fields.
template <class A> inline constexpr bool is_record = false;
template <class Out, class... Part> inline constexpr bool is_record<apply<detail::make_fn<Out>, Part...>> = true;

// A, or nothing of no rows.
template <class A> struct or_none : expression {
  A of;
  template <class S> struct held {
    S s{};
    bool any = false;
  };
  template <class T> using state = held<typename A::template state<T>>;
  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const {
    s.any = true;
    of.step(s.s, t);
  }
  template <class S> static void merge(S& a, S& b) {
    A::merge(a.s, b.s);
    a.any = a.any || b.any;
  }
  template <class T, class K, class S> auto value(const K& k, S& s) const {
    using V = decltype(of.template value<T>(k, s.s));
    if constexpr (is_computed<A> && ir::is_optional_v<V>) {  // a row that is an optional is a value
      return s.any ? of.template value<T>(k, s.s) : V();
    } else {
      return s.any ? std::optional<V>(of.template value<T>(k, s.s)) : std::optional<V>();
    }
  }
};

// Throws for a field of query::make<record> that cannot say so.
[[noreturn]] void no_value_of_no_rows(std::string_view record, std::string_view field);

// What a plain field is where there is no value.
template <class Field> constexpr bool may_be_nan() {
  if constexpr (ir::is_array_v<Field>) return may_be_nan<typename ir::array_traits<Field>::element>();
  else return std::is_floating_point_v<Field>;
}
template <class Field> void put_nan(Field& f) {
  if constexpr (ir::is_array_v<Field>)
    for (auto& e : f) put_nan(e);
  else f = std::numeric_limits<Field>::quiet_NaN();
}

// query::make<Out> of values, those of which that `Lacks` says may be missing.
template <class Out, bool... Lacks> struct maker_of_all {
  template <class... V> auto operator()(const V&... v) const { return fields(std::index_sequence_for<V...>{}, v...); }

 private:
  template <std::size_t... I, class... V> static auto fields(std::index_sequence<I...>, const V&... v) {
    return query::make<Out>(field<I, Lacks>(v)...);
  }
  template <std::size_t I, bool Lacking, class V> static decltype(auto) field(const V& v) {
    using Field = field_t<Out, I>;
    if constexpr (!Lacking || ir::is_optional_v<Field>) {
      return (v);
    } else if constexpr (may_be_nan<Field>() && detail::storable<typename V::value_type, Field>()) {
      Field f{};
      if (v) f = detail::value_of_type<Field>(*v);
      else put_nan(f);
      return f;
    } else {
      if (!v) no_value_of_no_rows(meta<Out>::name, meta<Out>::names[I]);
      return (*v);
    }
  }
};

template <class T, class A> struct of_all {
  static auto from(const A& a) {
    if constexpr (A::template needs_rows<T>) return or_none<A>{{}, a};
    else return a;
  }
};
template <class T, class Fn, class... Part> auto parts_of_all(const Fn& fn, const std::tuple<Part...>& parts) {
  return std::apply([&](const Part&... p) { return make_apply(fn, of_all<T, Part>::from(p)...); }, parts);
}
// An expression with query::iff in it is evaluated part by part: the chosen part may have a value where the others have none.
template <class A> inline constexpr bool chooses = false;
template <class Fn, class... Part> inline constexpr bool chooses<apply<Fn, Part...>> = (chooses<Part> || ...);
template <class... Part> inline constexpr bool chooses<apply<detail::iff_fn, Part...>> = true;
template <class Fn, bool... Lacks> struct if_all_there {
  Fn fn;
  template <class... V> auto operator()(const V&... v) const {
    using R = decltype(fn(there<Lacks>(v)...));
    using Given = std::conditional_t<ir::is_optional_v<R>, R, std::optional<R>>;
    return (... && has<Lacks>(v)) ? Given(fn(there<Lacks>(v)...)) : Given();
  }
  template <bool Lacking, class V> static decltype(auto) there(const V& v) {
    if constexpr (Lacking) return (*v);
    else return (v);
  }
  template <bool Lacking, class V> static bool has(const V& v) {
    if constexpr (Lacking) return v.has_value();
    else return true;
  }
};
template <bool C, bool A, bool B> struct choice_of_all {
  template <class VC, class VA, class VB> auto operator()(const VC& c, const VA& a, const VB& b) const {
    using all = if_all_there<detail::iff_fn, C, A, B>;
    using R = decltype(detail::iff_fn{}(true, all::template there<A>(a), all::template there<B>(b)));
    using Given = std::conditional_t<ir::is_optional_v<R>, R, std::optional<R>>;
    if (!all::template has<C>(c)) return Given();
    if (all::template there<C>(c)) return all::template has<A>(a) ? Given(detail::value_of_type<R>(all::template there<A>(a))) : Given();
    return all::template has<B>(b) ? Given(detail::value_of_type<R>(all::template there<B>(b))) : Given();
  }
};
template <class T, class Fn, class... Part> requires chooses<apply<Fn, Part...>> struct of_all<T, apply<Fn, Part...>> {
  static auto from(const apply<Fn, Part...>& a) {
    if constexpr (!apply<Fn, Part...>::template needs_rows<T>) return a;
    else if constexpr (std::is_same_v<Fn, detail::iff_fn>)
      return parts_of_all<T>(choice_of_all<Part::template needs_rows<T>...>{}, a.parts);
    else return parts_of_all<T>(if_all_there<Fn, Part::template needs_rows<T>...>{a.fn}, a.parts);
  }
};
template <class T, class... Part> struct of_all<T, apply<tupler, Part...>> {
  static auto from(const apply<tupler, Part...>& a) { return parts_of_all<T>(a.fn, a.parts); }
};
template <class T, class... Part> struct of_all<T, apply<pairer, Part...>> {
  static auto from(const apply<pairer, Part...>& a) { return parts_of_all<T>(a.fn, a.parts); }
};
template <class T, class Out, class... Part> struct of_all<T, apply<detail::make_fn<Out>, Part...>> {
  static auto from(const apply<detail::make_fn<Out>, Part...>& a) {
    if constexpr ((Part::template needs_rows<T> || ...))
      return parts_of_all<T>(maker_of_all<Out, (Part::template needs_rows<T> && !is_record<Part>)...>{}, a.parts);
    else return a;
  }
};

// The same of the traced function, which has given `root`, for results of type `out`: what it gives where there are rows. Of no rows
// every engine calls the compiled function. While the trace runs.
const ir::node* trace_of_all(const ir::node* root, const ir::type* out);

}  // namespace query::agg
