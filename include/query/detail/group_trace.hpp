// The functions of groups as expressions: what the plan shows and other engines run.
#pragma once

#include <span>
#include <string>
#include <utility>

#include <query/accelerated.hpp>
#include <query/detail/group_keys.hpp>
#include <query/detail/own_keys.hpp>
#include <query/detail/sketch_aggregates.hpp>
#include <query/detail/traced_groups.hpp>
#include <query/detail/traced_row.hpp>
#include <query/function.hpp>

namespace query::agg {

// An aggregate of `of`, an expression of the row; null: of the rows' number.
const ir::node* aggregate_node(const ir::type* t, const char* name, const ir::node* of, std::span<const ir::node* const> more);

template <class K, class T> struct traced_group {
  auto key() const {
    return detail::make_twin<K>(ir::current_arena().put(ir::op::key, ir::describe<K>()));
  }
  auto count() const { return leaf<std::int64_t>("count", nullptr); }
  template <class F> auto count(const F& f) const { return of<count_if<F>>("count_if", f); }
  template <class F = itself> auto sum(const F& f = {}) const { return of<agg::sum<F>>("sum", f); }
  template <class F = itself> auto mean(const F& f = {}) const { return of<agg::mean<F>>("mean", f); }
  template <class F = itself> auto average(const F& f = {}) const { return of<agg::mean<F>>("mean", f); }
  template <class F = itself> auto min(const F& f = {}) const { return of<extreme<false, F>>("min", f); }
  template <class F = itself> auto max(const F& f = {}) const { return of<extreme<true, F>>("max", f); }
  template <class F> auto arg_min(const F& f) const { return of<arg_extreme<false, F>>("arg_min", f); }
  template <class F> auto arg_max(const F& f) const { return of<arg_extreme<true, F>>("arg_max", f); }
  template <class F, class Less> auto min(const F&, const Less&) const { return own<extreme_by<false, F, Less>>("a user-defined order"); }
  template <class F, class Less> auto max(const F&, const Less&) const { return own<extreme_by<true, F, Less>>("a user-defined order"); }
  template <class F, class Less> auto arg_min(const F&, const Less&) const {
    return own<arg_extreme_by<false, F, Less>>("a user-defined order");
  }
  template <class F, class Less> auto arg_max(const F&, const Less&) const {
    return own<arg_extreme_by<true, F, Less>>("a user-defined order");
  }
  template <class F = itself> auto variance(const F& f = {}) const { return of<agg::variance<false, F>>("variance", f); }
  template <class F = itself> auto stddev(const F& f = {}) const { return of<agg::variance<true, F>>("stddev", f); }
  template <class F = itself> auto first(const F& f = {}) const { return of<edge<false, F>>("first", f); }
  template <class F = itself> auto last(const F& f = {}) const { return of<edge<true, F>>("last", f); }
  template <class F> auto any(const F& f) const { return of<decided<false, F>>("any", f); }
  template <class F> auto all(const F& f) const { return of<decided<true, F>>("all", f); }
  template <class F = itself> auto count_distinct(const F& f = {}) const { return of<agg::count_distinct<F>>("count_distinct", f); }
  template <class F, class Equal, class Hash> auto count_distinct(const F&, const Equal&, const Hash&) const {
    return own<count_distinct_by<F>>("a user-defined equality");
  }
  template <class F = itself> auto median(const F& f = {}) const { return of<agg::quantile<F>>("median", f); }
  template <class F = itself> auto quantile(const F& f, double q) const {
    const ir::node* at[] = {detail::literal(q)};
    return of<agg::quantile<F>>("quantile", f, at);
  }
  template <class F = itself> auto collect(const F& f = {}) const { return of<agg::collect<F>>("collect", f); }
  template <class F = itself> auto approx_count_distinct(const F& f = {}) const {
    return of<agg::approx_count_distinct<F>>("approx_count_distinct", f);
  }
  template <class F> auto approx_quantile(const F& f, double q) const {
    const ir::node* at[] = {detail::literal(q)};
    return of<agg::approx_quantile<F>>("approx_quantile", f, at);
  }
  auto approx_quantile(double q) const { return approx_quantile(itself{}, q); }
  template <class F, class N> auto top_k_frequent(const F& f, N k) const {
    const ir::node* number[] = {detail::literal(checked_k(k))};
    return of<agg::top_k_frequent<F>>("top_k_frequent", f, number);
  }
  template <class N> auto top_k_frequent(N k) const { return top_k_frequent(itself{}, k); }
  template <class S, class U, class C, class F = itself>
  auto aggregate(const S& seed, const U& update, const C& combine, const F& finish = {}) const {
    using R = detail::stored_t<std::invoke_result_t<const F&, S>>;
    return detail::make_twin<R>(custom_node<R>(seed, update, combine, finish));
  }

 private:
  template <class A> static auto own(const char* reason) {
    ir::give_up(reason);
    return detail::make_twin<value_of<A, K, T>>(nullptr);
  }
  template <class R> static auto leaf(const char* name, const ir::node* of, std::span<const ir::node* const> more = {}) {
    return detail::make_twin<R>(aggregate_node(ir::describe<R>(), name, of, more));
  }
  template <class A, class F> static auto of(const char* name, const F& f, std::span<const ir::node* const> more = {}) {
    using R = value_of<A, K, T>;
    if constexpr (!ir::described_v<T>) {
      ir::give_up(detail::no_record<T>());
      return leaf<R>(name, nullptr);
    } else if constexpr (detail::is_accelerated<F>) {
      const ir::type* rows[] = {ir::describe<T>()};
      return leaf<R>(name, detail::device_call_node(*f.device(), ir::describe<given<F, T>>(), rows), more);
    } else if constexpr (detail::wrapper<F>::opaque) {
      ir::give_up("query::opaque");
      return leaf<R>(name, detail::row_node(ir::describe<T>(), 0));
    } else if constexpr (!detail::is_callable<const F&, const detail::twin_t<T>&> || detail::names_its_types<F>) {
      if constexpr (!std::is_same_v<F, itself>) ir::give_up(std::string(name) + "(f): the parameter of f is not generic (write `auto`)");
      return leaf<R>(name, detail::row_node(ir::describe<T>(), 0));
    } else {
      using X = std::invoke_result_t<const F&, const detail::twin_t<T>&>;
      if constexpr (!std::is_same_v<detail::held_t<X>, given<F, T>>)
        ir::give_up(std::string(name) +
                    "(f): " + detail::types_differ(detail::type_name<detail::held_t<X>>(), detail::type_name<given<F, T>>()));
      return leaf<R>(name, ir::explore([&] { return detail::symbolic_call<F, T>::run(std::addressof(f)); }), more);
    }
  }

  // Kids: the seed; update over the row and a state, row number `id`; combine over states `id` and `id + 1`; finish over `id`.
  template <class R, class S, class U, class C, class F>
  static const ir::node* custom_node(const S& seed, const U& update, const C& combine, const F& finish) {
    if constexpr (!ir::described_v<T>) {
      ir::give_up(detail::no_record<T>());
    } else if constexpr (!state_traces<S>() || !ir::described_v<R>) {
      ir::give_up("a user-defined aggregate whose state or result is not made of numbers");
    } else {
      using state = detail::twin_t<S>;
      if constexpr (!traces<U, state, detail::twin_t<T>>() || !traces<C, state, state>() || !traces<F, state>()) {
        ir::give_up("a user-defined aggregate with a parameter that is not generic (write `auto`)");
      } else {
        const ir::nested_scope earlier, later;
        const state a = detail::make_twin<S>(detail::row_node(ir::describe<S>(), earlier.id));
        const state b = detail::make_twin<S>(detail::row_node(ir::describe<S>(), later.id));
        ir::node n;
        n.what = ir::op::aggregate;
        n.type = ir::describe<R>();
        n.id = earlier.id;
        n.text = "aggregate";
        n.kids = {
            detail::node_of_type<S>(seed),
            ir::explore([&] { return detail::node_of_type<S>(update(a, detail::make_twin<T>(detail::row_node(ir::describe<T>(), 0)))); }),
            ir::explore([&] { return detail::node_of_type<S>(combine(a, b)); }), ir::explore([&] { return detail::to_node(finish(a)); })};
        return ir::current_arena().put(std::move(n));
      }
    }
  }
};

}  // namespace query::agg
