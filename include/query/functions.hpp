// Functions that mean the same in native code, in traced lambdas and over the aggregates of groups.
//
//   .select([](auto t) { return query::make<Out>(t.symbol, query::iff(t.hot, t.price, 0.0), query::cast<float>(t.qty)); })
//
//   cast<T>(x)       static_cast<T>(x), which plain C++ would turn into a plain value
//   iff(c, a, b)     c ? a : b without a fork in the trace; takes any types that have a common one
//   lazy(x)          comparisons with it are conditions that do not fork: iff(lazy(t.qty) > 3 && lazy(t.price) < 2, a, b)
//   make<Out>(v...)  a record, one value a field
//   length, starts_with, ends_with, contains, find, substr, to_lower, to_upper   of strings
// Mathematics: maths.hpp. Arrays and records as vectors: arrays.hpp. Loops: loops.hpp.
#pragma once

#include <query/arrays.hpp>
#include <query/loops.hpp>
#include <query/maths.hpp>

namespace query {

namespace detail {

template <class T> struct cast_fn {
  template <class A> auto operator()(const A& a) const {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>, "query::cast<T>(x): T must be a number or an enum");
    if constexpr (deferred<A>) return defer(*this, a);
    else if constexpr (symbolic<A>) {
      static_assert(!std::is_same_v<value_of_t<A>, std::string>, "query::cast<T>(x): x must be a number or an enum");
      return wrap_like<T, A>(node_as<T>(a));
    } else return static_cast<T>(a);
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
      if constexpr (!fits) return (meta<Out>::template made_of<I, storable<held_t<X>, field_t<Out, I>, false>()>(), ...), Out{};
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
    const Out row{value_of_type<field_t<Out, I>>(x)...};
    does_not_fit(ir::describe<Out>(), &row, field, std::to_string(v), ir::describe<T>());
  }
};

// Strings: `kinds` says what each argument is: t: text, u: a position.
struct length_fn {
  static constexpr const char* name = "length";
  static std::size_t native(std::string_view s) { return s.size(); }
};
struct find_fn {
  static constexpr const char* name = "find";
  static std::size_t native(std::string_view s, std::string_view part) { return s.find(part); }
};
struct starts_with_fn {
  static constexpr const char* name = "starts_with";
  static bool native(std::string_view s, std::string_view part) { return s.starts_with(part); }
};
struct ends_with_fn {
  static constexpr const char* name = "ends_with";
  static bool native(std::string_view s, std::string_view part) { return s.ends_with(part); }
};
struct contains_fn {
  static constexpr const char* name = "contains";
  static bool native(std::string_view s, std::string_view part) { return s.find(part) != s.npos; }
};
struct substr_fn {
  static constexpr const char* name = "substr";
  static std::string native(std::string_view s, std::size_t at, std::size_t n) { return std::string(s.substr(at, n)); }
};
template <char First, char Last> std::string shift_case(std::string_view s, int by) {
  std::string r(s);
  for (char& c : r)
    if (c >= First && c <= Last) c = static_cast<char>(c + by);
  return r;
}
struct to_lower_fn {
  static constexpr const char* name = "to_lower";
  static std::string native(std::string_view s) { return shift_case<'A', 'Z'>(s, 'a' - 'A'); }
};
struct to_upper_fn {
  static constexpr const char* name = "to_upper";
  static std::string native(std::string_view s) { return shift_case<'a', 'z'>(s, 'A' - 'a'); }
};
template <class F> struct text_fn : F {
  template <class S, class... X> auto operator()(const S& s, const X&... x) const {
    if constexpr (any_deferred<S, X...>) {
      return defer(*this, s, x...);
    } else if constexpr (any_symbolic<S, X...>) {
      using R = decltype(F::native(std::declval<value_of_t<S>>(), std::declval<value_of_t<X>>()...));
      const ir::node* call =
          ir::current_arena().put(ir::op::call, ir::describe<R>(), {node_as<std::string>(s), argument(x)...}, 0, 0, F::name);
      if constexpr (!std::is_same_v<R, bool>) return wrap_like<R, S, X...>(call);
      else if constexpr (lazily<S, X...>) return lazy_bool(call);
      else return ir::decide(call);
    } else {
      return F::native(s, x...);
    }
  }

 private:
  template <class X> static const ir::node* argument(const X& x) {
    if constexpr (std::is_same_v<value_of_t<X>, std::string>) return node_of(x);
    else return node_as<std::size_t>(x);
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

// Strings. find gives std::string::npos where there is none; cases are those of ASCII.
template <detail::textual S> auto length(const S& s) { return detail::text_fn<detail::length_fn>{}(s); }
template <detail::textual S, detail::textual Part> auto find(const S& s, const Part& part) {
  return detail::text_fn<detail::find_fn>{}(s, part);
}
template <detail::textual S, detail::textual Part> auto starts_with(const S& s, const Part& part) {
  return detail::text_fn<detail::starts_with_fn>{}(s, part);
}
template <detail::textual S, detail::textual Part> auto ends_with(const S& s, const Part& part) {
  return detail::text_fn<detail::ends_with_fn>{}(s, part);
}
template <detail::textual S, detail::textual Part> auto contains(const S& s, const Part& part) {
  return detail::text_fn<detail::contains_fn>{}(s, part);
}
template <detail::textual S, detail::numeric A, detail::numeric N = std::size_t>
auto substr(const S& s, const A& at, const N& n = std::string::npos) {
  return detail::text_fn<detail::substr_fn>{}(s, at, n);
}
template <detail::textual S> auto to_lower(const S& s) { return detail::text_fn<detail::to_lower_fn>{}(s); }
template <detail::textual S> auto to_upper(const S& s) { return detail::text_fn<detail::to_upper_fn>{}(s); }

}  // namespace query
