// explain("sum"), explain("min_by", f): the query that a terminal verb makes of the user's before it runs, built by the very
// verbs that it is built by. What needs no function (take(1) of first) src/runtime/terminal_plan.cpp adds.
//
//   with_argument(q, "min_by", f, at, [&](const auto& made) { return made.explain("min_by", at); });
#pragma once

#include <query/aggregates.hpp>
#include <query/verbs/breaker.hpp>

namespace query::verbs {

// Calls show(query) for a verb without an argument.
template <class Q, class Show> std::string for_terminal(const Q& q, std::string_view terminal, call_site at, const Show& show) {
  using T = typename Q::row;
  [[maybe_unused]] const std::string label(terminal);
  if constexpr (ir::described_v<T>) {
    if (terminal == "to_set") return show(q.distinct(at, label.c_str()).order(nulls::last, at, label.c_str()));
  }
  if constexpr (ir::is_optional_v<T> && check::is_number<T>) {
    if (terminal == "sum" || terminal == "average" || terminal == "mean") return show(q.values(at, label.c_str()));
  }
  if constexpr (check::is_number_array<T>) {
    if (terminal == "sum") return show(q.aggregate([](auto g) { return g.sum(); }, at, label.c_str()));
    if (terminal == "average" || terminal == "mean")
      return show(q.aggregate([](auto g) { return g.mean(); }, at, label.c_str()));
  }
  if constexpr (!std::is_arithmetic_v<T> && check::less_than<check::without_null_t<T>>) {
    if (terminal == "min") return show(q.aggregate([](auto g) { return g.min(); }, at, label.c_str()));
    if (terminal == "max") return show(q.aggregate([](auto g) { return g.max(); }, at, label.c_str()));
  }
  return show(q);
}

// Calls show(query) for aggregate(a, b, ...) of functions in query::aggregates.
template <class Q, class Show, class... A>
std::string with_aggregates(const Q& q, std::string_view terminal, const Show& show, const A&... a) {
  const call_site at = agg::place_of(a...);
  if constexpr (sizeof...(A) == 1)
    if (terminal == "reduce") return show(q.aggregate(a.of..., at, "reduce"), at);
  if (terminal != "aggregate") detail::explain_refused(terminal, at);
  return show(q.aggregate(agg::all_of<A...>{std::tuple<A...>(a...)}, at, "aggregate"), at);
}

// Calls show(query) for a verb with the argument x: a function of the row, a number of rows or a row. A function of groups, as
// reduce takes one, cannot be told from one of rows: aggregate(f).explain() shows its plan.
template <class Q, class X, class Show>
std::string with_argument(const Q& q, std::string_view terminal, const X& x, call_site at, const Show& show) {
  using T = typename Q::row;
  const std::string name(terminal);
  const char* label = name.c_str();
  const auto is = [&](auto... names) { return ((terminal == names) || ...); };
  if constexpr (std::is_integral_v<X>) {
    if (is("element_at", "element_at_or_default")) return show(q.skip(x, at, label));
  }
  if constexpr (std::is_convertible_v<const X&, T> && check::equals<T>) {
    if (is("contains")) {
      const T value(x);
      if constexpr (detail::operand<check::without_null_t<T>>) {
        const auto same = [value](const auto& r) requires requires(const T& v) { r == v; } { return static_cast<bool>(r == value); };
        return show(q.where(same, at, label));
      } else {
        return show(q.where([value](const T& r) { return r == value; }, at, label));
      }
    }
  }
  if constexpr (check::gives_value<X, T>()) {
    using R = detail::result_of<X, T>;
    if constexpr (check::decides<std::invoke_result_t<const X&, const T&>>) {
      if (is("first", "first_or_none", "first_or_default", "last", "last_or_none", "last_or_default", "single", "single_or_default", "any",
             "count"))
        return show(q.where(x, at, label));
      if (is("all")) {
        const auto fails = [x](const auto& r) requires std::is_invocable_v<const X&, decltype(r)> { return !static_cast<bool>(x(r)); };
        return show(q.where(fails, at, label));
      }
    }
    if constexpr (check::is_number<R> || check::is_number_array<R>) {
      if (is("sum", "average", "mean")) return show(q.select(x, at, label));
    }
    if constexpr (check::is_number<R>) {
      if (is("approx_quantile")) return show(q.aggregate([x](auto g) { return g.approx_quantile(x, 0.5); }, at, label));
    }
    if constexpr (check::less_than<check::without_null_t<R>>) {
      if (is("min", "max")) return show(q.select(x, at, label));
      if (is("min_by")) return show(q.aggregate([x](auto g) { return g.arg_min(x); }, at, label));
      if (is("max_by")) return show(q.aggregate([x](auto g) { return g.arg_max(x); }, at, label));
    }
    if constexpr (ir::described_v<R>) {
      if (is("approx_count_distinct")) return show(q.aggregate([x](auto g) { return g.approx_count_distinct(x); }, at, label));
      if (is("top_k_frequent")) return show(q.aggregate([x](auto g) { return g.top_k_frequent(x, 1); }, at, label));
      if (is("to_lookup")) return show(q.group_by(x, at, label).groups(at).as_ordered());
    }
  }
  detail::explain_refused(terminal, at);
}

}  // namespace query::verbs
