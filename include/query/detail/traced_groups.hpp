// Groups with their rows as traced functions see them: groups().where([](auto g) { return g.count() > 2; }).
//
// The twin of a query::Group is its key and the list of its rows. Its aggregates are loops over that list: they begin, add and
// compare as those of the Group itself do, one row after the other, so both give the same. What needs memory of its own for a
// group (median, quantile, count_distinct, collect(f)) has no such form, and the function stays native.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/accelerated.hpp>
#include <query/detail/aggregate_expression.hpp>
#include <query/detail/nested.hpp>
#include <query/detail/sketch_aggregates.hpp>
#include <query/detail/traced_row.hpp>
#include <query/function.hpp>

namespace query {

template <class K, class T> class Group;

namespace agg {

// States of other types are built up in place (push_back), which has no traced form.
template <class S> constexpr bool state_traces() {
  if constexpr (std::is_arithmetic_v<S>) return true;
  else if constexpr (ir::is_array_v<S>) return state_traces<typename ir::array_traits<S>::element>();
  else if constexpr (ir::is_optional_v<S>) return state_traces<typename S::value_type>();
  else if constexpr (ir::is_tuple_v<S>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (state_traces<std::tuple_element_t<I, S>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<S>>{});
  } else if constexpr (record<S>) {
    return []<std::size_t... I>(std::index_sequence<I...>) { return (state_traces<field_t<S, I>>() && ...); }(field_indices<S>{});
  } else return false;
}
template <class F, class... Twin> constexpr bool traces() {
  if constexpr (detail::wrapper<F>::opaque || detail::names_its_types<F>) return false;
  else return std::is_invocable_v<const F&, const Twin&...>;
}

}  // namespace agg

namespace detail {

[[noreturn]] inline void rows_in_memory() {
  ir::give_up("a loop over the rows of a group: use its aggregates, or query::fold(g.rows(), init, f), query::any(g.rows(), f)...");
}

// What f gives of a row of a group, in functions that are traced: f may have captured the group's twin.
template <class F, class T>
concept seen_in_group = !is_accelerated<F> && !wrapper<F>::opaque && !names_its_types<F> && std::is_invocable_v<const F&, const twin_t<T>&>;
template <class F, class T> struct given_by_row { using type = agg::given<F, T>; };
template <class F, class T> requires seen_in_group<F, T> struct given_by_row<F, T> {
  using type = held_t<std::invoke_result_t<const F&, const twin_t<T>&>>;
};

// A row of a group. Functions that were written for plain groups say `for (const Trade& t : g)` too: that compiles, and they stay
// native.
template <class T> struct grouped_row { using type = twin_t<T>; };
template <record T> struct grouped_row<T> {
  struct type : twin_t<T> {
    operator const T&() const { became_plain<T>(); }  // NOLINT: implicit, as expr's
  };
};
template <class T> typename grouped_row<T>::type make_grouped_row(const ir::node* n) {
  if constexpr (record<T>) return {make_twin<T>(n)};
  else return make_twin<T>(n);
}

}  // namespace detail

// The rows of a group: a list that compiles where a vector does, also in loops, sorts and calls by which the trace ends.
template <class T> class expr_group_rows : public expr_list<T> {
 public:
  using row = typename detail::grouped_row<T>::type;
  explicit expr_group_rows(const ir::node* n) : expr_list<T>(n) {}
  operator std::span<const T>() const { detail::rows_in_memory(); }
  template <detail::operand I> row operator[](const I& i) const {
    return detail::make_grouped_row<T>(
        ir::current_arena().put(ir::op::index, ir::describe<T>(), {this->get(), detail::node_as<std::int64_t>(i)}));
  }
  template <class I> row at(const I& i) const { return (*this)[i]; }
  row front() const { return (*this)[0]; }
  row back() const {
    return (*this)[detail::wrap<std::int64_t>(detail::node_as<std::int64_t>(this->size())) - std::int64_t{1}];
  }
  const T* data() const { detail::rows_in_memory(); }
  class iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = row;
    using difference_type = std::ptrdiff_t;
    using pointer = value_type*;
    using reference = value_type&;
    reference operator*() const { detail::rows_in_memory(); }
    pointer operator->() const { detail::rows_in_memory(); }
    reference operator[](difference_type) const { detail::rows_in_memory(); }
    iterator& operator++() { detail::rows_in_memory(); }
    iterator operator++(int) { detail::rows_in_memory(); }
    iterator& operator--() { detail::rows_in_memory(); }
    iterator operator--(int) { detail::rows_in_memory(); }
    iterator& operator+=(difference_type) { detail::rows_in_memory(); }
    iterator& operator-=(difference_type) { detail::rows_in_memory(); }
    friend iterator operator+(const iterator&, difference_type) { detail::rows_in_memory(); }
    friend iterator operator+(difference_type, const iterator&) { detail::rows_in_memory(); }
    friend iterator operator-(const iterator&, difference_type) { detail::rows_in_memory(); }
    friend difference_type operator-(const iterator&, const iterator&) { detail::rows_in_memory(); }
    bool operator==(const iterator&) const { detail::rows_in_memory(); }
    std::strong_ordering operator<=>(const iterator&) const { detail::rows_in_memory(); }
  };
  iterator begin() const { return {}; }
  iterator end() const { return {}; }
  std::reverse_iterator<iterator> rbegin() const { return std::reverse_iterator<iterator>(end()); }
  std::reverse_iterator<iterator> rend() const { return std::reverse_iterator<iterator>(begin()); }
  template <class... A> void resize(const A&...) const { detail::rows_in_memory(); }
  template <class... A> void reserve(const A&...) const { detail::rows_in_memory(); }
  template <class... A> void push_back(const A&...) const { detail::rows_in_memory(); }
  template <class... A> void pop_back(const A&...) const { detail::rows_in_memory(); }
  template <class... A> iterator insert(const A&...) const { detail::rows_in_memory(); }
  template <class... A> iterator erase(const A&...) const { detail::rows_in_memory(); }
  template <class... A> void assign(const A&...) const { detail::rows_in_memory(); }
  void clear() const { detail::rows_in_memory(); }
};

namespace detail {
template <class T> struct twin_traits<expr_group_rows<T>> : std::true_type { using held = std::vector<T>; };
}  // namespace detail

template <class K, class T> class expr<Group<K, T>> {
 public:
  using value_type = Group<K, T>;
  explicit expr(detail::from_node f) : node_(f.n) {}
  operator Group<K, T>() const { detail::became_plain<Group<K, T>>(); }  // NOLINT: implicit, as expr's
  const ir::node* get() const { return node_; }

  auto key() const { return detail::make_twin<K>(detail::part_of(node_, 0)); }
  expr_group_rows<T> rows() const { return expr_group_rows<T>(detail::part_of(node_, 1)); }
  expr<std::size_t> size() const { return rows().size(); }
  auto begin() const { return rows().begin(); }
  auto end() const { return rows().end(); }
  template <class I> auto operator[](const I& i) const { return rows()[i]; }

  expr<std::int64_t> count() const { return detail::wrap<std::int64_t>(detail::node_as<std::int64_t>(size())); }
  template <class F> auto count(const F& f) const {
    return counted("count", f);
  }
  template <class F = agg::itself> auto sum(const F& f = {}) const {
    return summed<agg::sum_t<value_in<F>>>("sum", f);
  }
  template <class F = agg::itself> auto mean(const F& f = {}) const {
    return mean_of("mean", f);
  }
  template <class F = agg::itself> auto average(const F& f = {}) const {
    return mean_of("average", f);
  }
  template <class F = agg::itself> auto min(const F& f = {}) const {
    return extreme<false>("min", f);
  }
  template <class F = agg::itself> auto max(const F& f = {}) const {
    return extreme<true>("max", f);
  }
  template <class F> auto arg_min(const F& f) const {
    return row_of_extreme<false>("arg_min", f);
  }
  template <class F> auto arg_max(const F& f) const {
    return row_of_extreme<true>("arg_max", f);
  }
  template <class F, class Less> auto min(const F&, const Less&) const { return native<agg::extreme_by<false, F, Less>>(own_order); }
  template <class F, class Less> auto max(const F&, const Less&) const { return native<agg::extreme_by<true, F, Less>>(own_order); }
  template <class F, class Less> auto arg_min(const F&, const Less&) const {
    return native<agg::arg_extreme_by<false, F, Less>>(own_order);
  }
  template <class F, class Less> auto arg_max(const F&, const Less&) const {
    return native<agg::arg_extreme_by<true, F, Less>>(own_order);
  }
  template <class F = agg::itself> auto variance(const F& f = {}) const {
    return spread<false>("variance", f);
  }
  template <class F = agg::itself> auto stddev(const F& f = {}) const {
    return spread<true>("stddev", f);
  }
  template <class F = agg::itself> auto first(const F& f = {}) const {
    if constexpr (std::is_same_v<F, agg::itself>) return rows().front();
    else return value_at("first", f, rows().front());
  }
  template <class F = agg::itself> auto last(const F& f = {}) const {
    if constexpr (std::is_same_v<F, agg::itself>) return rows().back();
    else return value_at("last", f, rows().back());
  }
  template <class F> auto any(const F& f) const {
    return ir::decide(looped<bool, bool>("any", [&](const auto& row) { return value_at("any", f, row); }));
  }
  template <class F> auto all(const F& f) const {
    return ir::decide(looped<bool, bool>("all", [&](const auto& row) { return value_at("all", f, row); }));
  }
  template <class F = agg::itself> auto count_distinct(const F& = {}) const { return native<agg::count_distinct<F>>(own_memory); }
  template <class F, class Equal, class Hash> auto count_distinct(const F&, const Equal&, const Hash&) const {
    return native<agg::count_distinct_by<F>>(own_memory);
  }
  template <class F = agg::itself> auto median(const F& = {}) const { return native<agg::quantile<F>>(own_memory); }
  template <class F = agg::itself> auto quantile(const F&, double) const { return native<agg::quantile<F>>(own_memory); }
  template <class F = agg::itself> auto collect(const F& = {}) const {
    if constexpr (std::is_same_v<F, agg::itself>) return rows();
    else return native<agg::collect<F>>(own_memory);
  }
  template <class F = agg::itself> auto approx_count_distinct(const F& = {}) const {
    return native<agg::approx_count_distinct<F>>(own_sketch);
  }
  template <class F> auto approx_quantile(const F&, double) const { return native<agg::approx_quantile<F>>(own_sketch); }
  auto approx_quantile(double q) const { return approx_quantile(agg::itself{}, q); }
  template <class F, class N> auto top_k_frequent(const F&, N) const { return native<agg::top_k_frequent<F>>(own_sketch); }
  template <class N> auto top_k_frequent(N k) const { return top_k_frequent(agg::itself{}, k); }
  template <class S, class U, class C, class F = agg::itself>
  auto aggregate(const S& seed, const U& update, const C&, const F& finish = {}) const {
    using A = agg::custom<S, U, C, F>;
    if constexpr (!agg::state_traces<S>()) {
      return native<A>("a user-defined aggregate of a group whose state is not made of numbers");
    } else if constexpr (!agg::traces<U, detail::twin_t<S>, detail::twin_t<T>>() || !agg::traces<F, detail::twin_t<S>>()) {
      return native<A>("a user-defined aggregate of a group with a parameter that is not generic (write `auto`)");
    } else {
      const auto state = detail::nested_fold<S, T>(list(), seed, [&](const auto& s, const auto& row) { return update(s, row); });
      using R = detail::held_t<std::invoke_result_t<const F&, const detail::twin_t<S>&>>;
      return detail::make_twin<R>(detail::to_node(finish(state)));
    }
  }

 private:
  static constexpr const char* own_order = "an aggregate of a group by a user-defined order";
  static constexpr const char* own_sketch = "a sketch of a group with its rows: only compiled code keeps sketches";
  static constexpr const char* own_memory =
      "median, quantile, count_distinct and collect(f) of a group with its rows: they need memory for each group (right behind "
      "group_by(key), in select([](auto g) {...}), they are traced)";

  const ir::node* list() const { return detail::part_of(node_, 1); }
  template <class A> static auto native(const char* reason) {
    ir::give_up(reason);
    return detail::make_twin<agg::value_of<A, K, T>>(nullptr);
  }

  template <class F> using given = typename detail::given_by_row<F, T>::type;
  template <class F> using value_in = typename agg::unwrapped<given<F>>::type;
  template <class F> static constexpr bool nullable = ir::is_optional_v<given<F>>;

  // f(row) as a twin.
  template <class F, class Row> static auto value_at(const char* name, const F& f, const Row& row) {
    using V = given<F>;
    const std::string call = std::string(name) + "(f): ";
    if constexpr (detail::is_accelerated<F>) ir::give_up(call + "an accelerated function of a row of a group");
    else if constexpr (detail::wrapper<F>::opaque) ir::give_up("query::opaque");
    else if constexpr (!detail::seen_in_group<F, T>) ir::give_up(call + "the parameter of f is not generic (write `auto`)");
    else if constexpr (std::is_nothrow_invocable_v<const F&, const Row&>)
      ir::give_up(call + "f is noexcept, and a trace gives up by throwing");
    else {
      // Native and traced calls may find different functions (C's abs(int)); one that captures may have captured the group's twin.
      if constexpr (std::is_empty_v<F>)
        if constexpr (!std::is_same_v<V, agg::given<F, T>>)
          ir::give_up(call + detail::types_differ(detail::type_name<V>(), detail::type_name<agg::given<F, T>>()));
      return detail::make_twin<V>(detail::to_node(f(row)));
    }
    return detail::make_twin<V>(nullptr);
  }
  template <class R, class V, class Body> const ir::node* looped(const char* verb, const Body& body) const {
    return detail::nested_node<R, V, T>(verb, list(), body);
  }
  template <class R> static auto perhaps(const ir::node* there, const ir::node* value) {
    auto& a = ir::current_arena();
    const ir::type* t = ir::describe<std::optional<R>>();
    return expr_optional<R>(ir::make_select(a, there, a.put(ir::op::some, t, {value}), a.put(ir::op::null, t)));
  }
  template <class X> static const ir::node* above(const X& n, std::int64_t least) {
    return detail::compared(ir::op::gt, n, least);
  }

  // Rows for which f is true, or not null.
  template <class F> auto counted(const char* name, const F& f) const {
    return detail::wrap<std::int64_t>(looped<std::int64_t, bool>("count", [&](const auto& row) {
      const auto v = value_at(name, f, row);
      if constexpr (nullable<F>) return detail::wrap<bool>(v.has());
      else return v;
    }));
  }
  template <class S, class F> auto summed(const char* name, const F& f) const {
    using V = value_in<F>;
    return detail::make_twin<S>(looped<S, S>("sum", [&](const auto& row) {
      const auto v = value_at(name, f, row);
      if constexpr (nullable<F>) return v.value_or(V{});
      else return v;
    }));
  }
  template <class F> auto mean_of(const char* name, const F& f) const {
    using V = value_in<F>;
    using R = typename agg::mean_of<V>::type;
    const auto total = summed<typename agg::sum_of_mean<V>::type>(name, f);
    const auto n = [&] {
      if constexpr (nullable<F>) return counted(name, f);
      else return count();
    }();
    const auto share = [&](const auto& sum) {
      return detail::wrap<double>(detail::node_as<double>(sum)) / detail::wrap<double>(detail::node_as<double>(n));
    };
    const auto value = [&] {
      if constexpr (ir::is_array_v<V>) {
        using E = typename R::value_type;
        detail::twin_t<R> r;
        for (std::size_t i = 0; i < r.size(); ++i) r[i] = detail::wrap<E>(detail::node_as<E>(share(total[i])));
        return r;
      } else {
        return share(total);
      }
    }();
    if constexpr (nullable<F>) return perhaps<R>(above(n, 0), detail::to_node(value));
    else return value;
  }

  // min and max keep whether there was a value and which is best; arg_min and arg_max also the row's number and that of the best.
  template <class V> static constexpr bool compares = std::is_arithmetic_v<V> || std::is_enum_v<V> || std::is_same_v<V, std::string> ||
                                                      ir::counted<V>;
  template <bool Max, class V, class X> static bool beats(const X& a, const X& b) {
    if constexpr (std::is_floating_point_v<V>) {
      if (b != b) return a == a;
    }
    if constexpr (Max) return b < a;
    else return a < b;
  }
  template <bool Max, class F, class X, class State> static bool takes(const X& v, const State& best) {
    if constexpr (nullable<F>) {
      if (!v.has_value()) return false;
    }
    if (!static_cast<bool>(std::get<0>(best))) return true;
    return beats<Max, value_in<F>>(present<F>(v), std::get<1>(best));
  }
  template <class F, class X> static auto present(const X& v) {
    if constexpr (nullable<F>) return v.value();
    else return v;
  }
  template <bool Max, class F> auto extreme(const char* name, const F& f) const {
    using V = value_in<F>;
    if constexpr (!compares<V>) {
      return native<agg::extreme<Max, F>>("min and max of a group of values that are no numbers, enums or strings");
    } else {
      using S = std::tuple<bool, V>;
      const auto best = detail::nested_fold<S, T>(list(), S{}, [&](const auto& state, const auto& row) {
        const auto v = value_at(name, f, row);
        if (!takes<Max, F>(v, state)) return state;
        return detail::twin_t<S>(expr<bool>(true), present<F>(v));
      });
      if constexpr (nullable<F>) return perhaps<V>(std::get<0>(best).get(), std::get<1>(best).get());
      else return std::get<1>(best);
    }
  }
  // A group has a row at least: where f gives no nulls, the row is there.
  template <bool Max, class F> auto row_of_extreme(const char* name, const F& f) const {
    using V = value_in<F>;
    if constexpr (!compares<V>) {
      return native<agg::arg_extreme<Max, F>>("arg_min and arg_max of a group by values that are no numbers, enums or strings");
    } else {
      using S = std::tuple<bool, V, std::int64_t, std::int64_t>;
      const auto state = detail::nested_fold<S, T>(list(), S{}, [&](const auto& s, const auto& row) {
        const auto& [some, best, i, at] = s;
        const expr<std::int64_t> next = i + std::int64_t{1};
        const auto v = value_at(name, f, row);
        if (!takes<Max, F>(v, s)) return detail::twin_t<S>(some, best, next, at);
        return detail::twin_t<S>(expr<bool>(true), present<F>(v), next, i);
      });
      const auto row = rows()[std::get<3>(state)];
      if constexpr (nullable<F>) return perhaps<T>(std::get<0>(state).get(), detail::to_node(row));
      else return row;
    }
  }
  // Sample variance (n - 1), or its root, as agg::moments goes on from row to row.
  template <bool Root, class F> auto spread(const char* name, const F& f) const {
    using S = std::tuple<std::int64_t, double, double, double>;
    const auto state = detail::nested_fold<S, T>(list(), S{}, [&](const auto& before, const auto& row) {
      const auto v = value_at(name, f, row);
      if constexpr (nullable<F>) {
        if (!v.has_value()) return before;
      }
      const auto& [seen, mean, low, squares] = before;
      const expr<double> x = detail::wrap<double>(detail::node_as<double>(present<F>(v))), d = (x - mean) - low;
      const expr<std::int64_t> n = seen + std::int64_t{1};
      const expr<double> by = d * (1.0 / detail::wrap<double>(detail::node_as<double>(n))), next = mean + by, moved = next - mean;
      const expr<double> lost = (mean - (next - moved)) + (by - moved);
      return detail::twin_t<S>(n, next, low + lost, squares + d * (d - by));
    });
    const expr<std::int64_t> n = std::get<0>(state);
    const expr<double> v = std::get<3>(state) / detail::wrap<double>(detail::node_as<double>(n - std::int64_t{1}));
    if constexpr (Root) return perhaps<double>(above(n, 1), query::sqrt(v).get());
    else return perhaps<double>(above(n, 1), v.get());
  }

  const ir::node* node_;
};

}  // namespace query
