// Functions that mean the same in native code, in traced lambdas and over the aggregates of groups.
//
//   .select([](auto t) { return query::make<Out>(t.symbol, query::iff(t.hot, t.price, 0.0), query::cast<float>(t.qty)); })
//
//   cast<T>(x)       static_cast<T>(x), which plain C++ would turn into a plain value
//   iff(c, a, b)     c ? a : b without a fork in the trace; takes any types that have a common one
//   lazy(x)          comparisons with it are conditions that do not fork: iff(lazy(t.qty) > 3 && lazy(t.price) < 2, a, b)
//   make<Out>(v...)  a record, one value a field
// Mathematics: maths.hpp. Strings: strings.hpp. Arrays and records as vectors: arrays.hpp. Loops: loops.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <query/arrays.hpp>
#include <query/detail/after_error.hpp>
#include <query/loops.hpp>
#include <query/maths.hpp>
#include <query/strings.hpp>

namespace query {

namespace detail {

// Said once, however many kinds of values a function is called with. V: a plain type.
template <class T> constexpr bool casts_to() {
  constexpr bool ok = std::is_arithmetic_v<T> || std::is_enum_v<T>, text = std::is_convertible_v<T, std::string_view>;
  static_assert(!text, "query: cast: a number does not become text by a cast. Write query::to_string(x)");
  static_assert(ok || text, "query: cast: in query::cast<T>(x), T must be a number or an enum");
  return ok;
}
template <class T, class V> constexpr bool casts() {
  if constexpr (!casts_to<T>()) return false;
  else {
    constexpr bool ok = requires(const V& v) { static_cast<T>(v); };
    constexpr bool text = std::is_convertible_v<V, std::string_view>, null = ir::is_optional_v<V>;
    constexpr bool time = ir::time_point<V>, duration = ir::duration<V>;
    static_assert(ok || !text, "query: cast: text does not become a number by a cast. Write query::parse<int>(x).value_or(0): parse gives "
                               "a std::optional, empty if the text is no such number");
    static_assert(ok || !null, "query: cast: the value is a std::optional. Say what a null means: query::cast<T>(x.value_or(0))");
    static_assert(ok || !time, "query: cast: a time does not become a number by a cast. Write t.at.time_since_epoch().count(), or a part "
                               "of it, as query::hour_of(t.at)");
    static_assert(ok || !duration, "query: cast: a duration does not become a number by a cast. Write t.delay.count(), or "
                                   "query::total<std::chrono::seconds>(t.delay)");
    static_assert(ok || text || null || time || duration, "query: cast: in query::cast<T>(x), x must be a number or an enum");
    return ok;
  }
}

template <class T> struct cast_fn {
  template <class A> auto operator()(const A& a) const {
    if constexpr (deferred<A>) return defer(*this, a);
    else if constexpr (!casts<T, held_t<A>>()) return check::after_error{};
    else if constexpr (symbolic<A>) return wrap_like<T, A>(node_as<T>(a));
    else return static_cast<T>(a);
  }
};

struct lazy_fn {
  template <class A> auto operator()(const A& a) const {
    if constexpr (symbolic<A>) {
      if constexpr (std::is_same_v<value_of_t<A>, bool>) return lazy_bool(a.get());
      else return lazy_expr<value_of_t<A>>(a);
    } else return a;
  }
};

// Said once, however many kinds of values a function is called with.
template <class VA, class VB> constexpr bool iff_meets() {
  constexpr bool meets = requires { typename common<VA, VB>::type; };
  static_assert(meets, "query::iff(c, a, b): a and b have no common type; convert one of them with query::cast<T>(x)");
  return meets;
}
template <class Out> constexpr bool make_knows() {
  static_assert(record<Out> || has_meta<Out>, "query::make<Out>(...): Out needs a QUERY_RECORD, in its namespace, right after the struct");
  return record<Out>;
}

struct iff_fn {
  template <class C, class A, class B> auto operator()(const C& c, const A& a, const B& b) const {
    if constexpr (any_deferred<C, A, B>) {
      return defer(*this, c, a, b);
    } else {
      using VA = held_t<A>;
      using VB = held_t<B>;
      static_assert(operand<C> && std::is_arithmetic_v<value_of_t<C>>, "query::iff(c, a, b): c must be a condition");
      if constexpr (iff_meets<VA, VB>() && operand<C>) {
        using R = typename common<VA, VB>::type;
        if constexpr (symbolic<C>) {
          const ir::node* condition = c.get();
          if constexpr (!std::is_same_v<value_of_t<C>, bool>)
            condition = binary(ir::op::ne, ir::describe<bool>(), condition, literal(value_of_t<C>{}));
          return make_twin<R>(ir::make_select(ir::current_arena(), condition, node_of_type<R>(a), node_of_type<R>(b)));
        } else {
          constexpr bool traced = any_twin<A, B>;
          return c ? stored_as<traced, R>(a) : stored_as<traced, R>(b);
        }
      } else return a;  // the error is said; what follows takes it for a value
    }
  }
};

template <class Out> struct make_fn {
  template <class... X> auto operator()(const X&... x) const {
    if constexpr (make_knows<Out>()) {
      meta<Out>::template made_of_all<sizeof...(X) == meta<Out>::size>();
      if constexpr (sizeof...(X) == meta<Out>::size) return fields(std::index_sequence_for<X...>{}, x...);
      else return Out{};
    } else if constexpr (any_deferred<X...>) {
      return defer(no_row{}, x...);
    } else {
      return no_row{}(x...);
    }
  }

 private:
  struct no_row {  // the error is said; what follows takes it for a row
    template <class... V> Out operator()(const V&...) const { __builtin_unreachable(); }
  };
  template <std::size_t... I, class... X> auto fields(std::index_sequence<I...>, const X&... x) const {
    if constexpr (any_deferred<X...>) {
      return defer(*this, x...);
    } else {
      constexpr bool fits = (storable<held_t<X>, field_t<Out, I>, false>() && ...);
      if constexpr (!fits) return (meta<Out>::template made_of<I, value_for_field<held_t<X>, field_t<Out, I>>>(), ...), Out{};
      else if constexpr (any_twin<X...>) return twin_t<Out>{field<I>(x)...};
      else return Out{value_of_type<field_t<Out, I>>(x, fitting<I>(x...))...};
    }
  }
  template <std::size_t I, class X> static auto field(const X& x) {
    const made_field f{meta<Out>::name, meta<Out>::names[I]};
    return make_twin<field_t<Out, I>>(node_of_type<field_t<Out, I>>(x, &f));
  }
  template <std::size_t I, class... X> static auto fitting(const X&... x) {
    return [&]<class T, class V>(std::type_identity<T> to, V v) QUERY_INLINE {
      if constexpr (may_not_fit<V, T>)
        if (!detail::fits<T>(v)) [[unlikely]] report(to, I, v, std::index_sequence_for<X...>{}, x...);
      return static_cast<T>(v);
    };
  }
  template <class T, class V, std::size_t... I, class... X>
  [[noreturn, gnu::noinline, gnu::cold]] static void report(std::type_identity<T>, std::size_t field, V v, std::index_sequence<I...>,
                                                            const X&... x) {
    // Later fields may not fit either, and are shown as they were given, too.
    struct {
      Out row;
      std::array<std::uint64_t, sizeof...(X)> given;
    } shown{Out{value_of_type<field_t<Out, I>>(x)...}, {}};
    ir::type as_given = *ir::describe<Out>();
    (show_given<I>(as_given, shown.row, shown.given[I], x), ...);
    does_not_fit(&as_given, &shown.row, field, std::to_string(v), ir::describe<T>());
  }
  // Field I of the row's description becomes the number x, where that is none of the field's type.
  template <std::size_t I, class X> static void show_given(ir::type& row_type, const Out& row, std::uint64_t& given, const X& x) {
    if constexpr (ir::is_optional_v<X>) {
      if (x) show_given<I>(row_type, row, given, *x);
    } else if constexpr (may_not_fit<X, typename present<field_t<Out, I>>::type>) {
      if (detail::fits<typename present<field_t<Out, I>>::type>(x)) return;
      using shown = std::conditional_t<std::is_signed_v<X>, std::int64_t, std::uint64_t>;
      given = static_cast<std::uint64_t>(x);
      const auto* const start = reinterpret_cast<const std::byte*>(&row);
      row_type.field_list[I].of = ir::describe<shown>();
      row_type.field_list[I].offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&given) - start);
    }
  }
};

}  // namespace detail

// x as a T, as static_cast does it: a number or an enum.
template <class T, class A> auto cast(const A& a) { return detail::cast_fn<T>{}(a); }

// Conditions on it do not fork: for iff. Natively x itself.
template <class A> auto lazy(const A& a) { return detail::lazy_fn{}(a); }

// c ? a : b in the common type of a and b. Both are computed when traced, one takes part in the result.
template <class C, class A, class B> auto iff(const C& c, const A& a, const B& b) { return detail::iff_fn{}(c, a, b); }

// A record of type Out. Optional fields take values and std::nullopt; lists of views become lists of strings. Integers become
// floating-point numbers, and double becomes float, rounded: a double that is too large for a float becomes infinite, as a check would
// keep loops from being vectorised. An integer that does not fit its field's integer type is a user_error with the row; a
// floating-point number becomes an integer by query::cast alone, which says of integers that they may wrap, too.
template <class Out, class... X> auto make(const X&... x) { return detail::make_fn<Out>{}(x...); }

}  // namespace query
