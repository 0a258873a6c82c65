// What functions of groups receive: group_by(key).select([](auto g) { ... }).
//
// `auto g` is a recorder: g.sum(f), g.count(), g.key()... stand for aggregates that are kept up incrementally, and arithmetic
// on them is done when the groups are finished. Nothing is materialised. `const query::Group<K, T>& g` asks for the rows.
//
//   .select([](auto g) { return query::make<Vwap>(g.key(), g.sum(notional) / g.sum(quantity), g.count()); })
#pragma once

#include <span>

#include <query/accelerated.hpp>
#include <query/detail/aggregate_calls.hpp>
#include <query/detail/aggregate_expression.hpp>
#include <query/detail/aggregates_of_all.hpp>
#include <query/detail/check.hpp>
#include <query/detail/own_keys.hpp>
#include <query/detail/row_fields.hpp>
#include <query/detail/traced_groups.hpp>
#include <query/detail/traced_row.hpp>
#include <query/function.hpp>

namespace query {

namespace agg {

// A part of a composite key.
template <class U> struct key_part : expression {
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
template <class Fn, class... U> struct key_of_parts : expression {
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

#define QUERY_DETAIL_NEEDS_GROUP                                                                                       \
  "query: looking at the rows of a group materialises it. Name the parameter type to allow that: "                    \
  "[](const query::Group<Key, Row>& g) { ... }"

#define QUERY_DETAIL_NEEDS_VALUE(best, of_values)                                                                       \
  "query: " #best ": the function is missing: g." #best "([](auto t) { return t.price; }), the row whose price it is. The value alone: " \
  "g." #of_values "([](auto t) { return t.price; })"

// What g.where(p) gives after its error: aggregates of nothing.
struct refused_rows {
#define QUERY_DETAIL_REFUSED(name) template <class... A> refused name(const A&...) const { return {}; }
  QUERY_DETAIL_REFUSED(count) QUERY_DETAIL_REFUSED(sum) QUERY_DETAIL_REFUSED(mean) QUERY_DETAIL_REFUSED(average) QUERY_DETAIL_REFUSED(min)
  QUERY_DETAIL_REFUSED(max) QUERY_DETAIL_REFUSED(first) QUERY_DETAIL_REFUSED(last) QUERY_DETAIL_REFUSED(any) QUERY_DETAIL_REFUSED(all)
  QUERY_DETAIL_REFUSED(median) QUERY_DETAIL_REFUSED(count_distinct) QUERY_DETAIL_REFUSED(collect) QUERY_DETAIL_REFUSED(arg_min)
  QUERY_DETAIL_REFUSED(arg_max)
#undef QUERY_DETAIL_REFUSED
};

template <class K, class T> struct recorder {
  auto key() const { return key_expression<K>(); }
  auto count() const { return agg::count{}; }
  template <class F> auto count(F f) const {
    if constexpr (!check::count::counts<F, T>()) return refused{};
    else return count_if<F>{{}, std::move(f)};
  }
  template <class F = itself> auto sum(F f = {}) const {
    if constexpr (!check::sum::number_of<F, T, true>()) return refused{};
    else return agg::sum<F>{{}, std::move(f)};
  }
  template <class F = itself> auto mean(F f = {}) const {
    if constexpr (!check::mean::number_of<F, T, true>()) return refused{};
    else return agg::mean<F>{{}, std::move(f)};
  }
  template <class F = itself> auto average(F f = {}) const {
    if constexpr (!check::average::number_of<F, T, true>()) return refused{};
    else return agg::mean<F>{{}, std::move(f)};
  }
  template <class F = itself> auto min(F f = {}) const {
    if constexpr (!check::min::ordered<F, T>()) return refused{};
    else return extreme<false, F>{{}, std::move(f)};
  }
  template <class F = itself> auto max(F f = {}) const {
    if constexpr (!check::max::ordered<F, T>()) return refused{};
    else return extreme<true, F>{{}, std::move(f)};
  }
  template <class F> auto arg_min(F f) const {
    if constexpr (!check::arg_min::ordered<F, T>()) return refused{};
    else return best_row<F>(arg_extreme<false, F>{{}, std::move(f)});
  }
  template <class F> auto arg_max(F f) const {
    if constexpr (!check::arg_max::ordered<F, T>()) return refused{};
    else return best_row<F>(arg_extreme<true, F>{{}, std::move(f)});
  }
  template <class D = void> refused arg_min() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_VALUE(arg_min, min)); return {}; }
  template <class D = void> refused arg_max() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_VALUE(arg_max, max)); return {}; }
  // By the user's own order of values, less(a, b).
  template <class F, class Less> auto min(F f, Less less) const {
    if constexpr (!check::min::custom_order<F, T, Less>()) return refused{};
    else return extreme_by<false, F, Less>{{}, std::move(f), std::move(less)};
  }
  template <class F, class Less> auto max(F f, Less less) const {
    if constexpr (!check::max::custom_order<F, T, Less>()) return refused{};
    else return extreme_by<true, F, Less>{{}, std::move(f), std::move(less)};
  }
  template <class F, class Less> auto arg_min(F f, Less less) const {
    if constexpr (!check::arg_min::custom_order<F, T, Less>()) return refused{};
    else return best_row<F>(arg_extreme_by<false, F, Less>{{}, std::move(f), std::move(less)});
  }
  template <class F, class Less> auto arg_max(F f, Less less) const {
    if constexpr (!check::arg_max::custom_order<F, T, Less>()) return refused{};
    else return best_row<F>(arg_extreme_by<true, F, Less>{{}, std::move(f), std::move(less)});
  }
  template <class F = itself> auto variance(F f = {}) const {
    if constexpr (!check::variance::number_of<F, T>()) return refused{};
    else return agg::variance<false, F>{{}, std::move(f)};
  }
  template <class F = itself> auto stddev(F f = {}) const {
    if constexpr (!check::stddev::number_of<F, T>()) return refused{};
    else return agg::variance<true, F>{{}, std::move(f)};
  }
  template <class F = itself> auto first(F f = {}) const {
    if constexpr (!check::first::value<F, T>()) return refused{};
    else return with_fields<given<F, T>>(edge<false, F>{{}, std::move(f)});
  }
  template <class F = itself> auto last(F f = {}) const {
    if constexpr (!check::last::value<F, T>()) return refused{};
    else return with_fields<given<F, T>>(edge<true, F>{{}, std::move(f)});
  }
  template <class F> auto any(F f) const {
    if constexpr (!check::any::predicate<F, T>()) return refused{};
    else return decided<false, F>{{}, std::move(f)};
  }
  template <class F> auto all(F f) const {
    if constexpr (!check::all::predicate<F, T>()) return refused{};
    else return decided<true, F>{{}, std::move(f)};
  }
  template <class F = itself> auto count_distinct(F f = {}) const {
    if constexpr (!check::count_distinct::key<F, T>()) return refused{};
    else return agg::count_distinct<F>{{}, std::move(f)};
  }
  // By the user's own equality and hash of the values.
  template <class F, class Equal, class Hash> auto count_distinct(F f, Equal equal, Hash hash) const {
    if constexpr (!check::count_distinct::custom_key<F, T, Equal, Hash>()) return refused{};
    else return count_distinct_by<F>{{}, std::move(f), detail::custom_keys<value_in<F, T>>(std::move(equal), std::move(hash))};
  }
  template <class F, class Equal> auto count_distinct(const F&, const Equal&) const {
    check::count_distinct::no_hash<Equal>();
    return refused{};
  }
  template <class F = itself> auto median(F f = {}) const {
    if constexpr (!check::median::number_of<F, T>()) return refused{};
    else return agg::quantile<F>{{}, std::move(f), 0.5};
  }
  template <class F = itself> auto quantile(F f, double q) const {
    if (!(q >= 0 && q <= 1)) throw detail::unplaced_error("g.quantile(f, q): q must lie between 0 and 1: " + std::to_string(q));
    if constexpr (!check::quantile::number_of<F, T>()) return refused{};
    else return agg::quantile<F>{{}, std::move(f), q};
  }
  template <class F = itself> auto collect(F f = {}) const {
    if constexpr (!check::collect::value<F, T>()) return refused{};
    else return agg::collect<F>{{}, std::move(f)};
  }
  // combine(seed, x) must be x: the seed starts every part of the rows.
  template <class S, class U, class C, class F = itself> auto aggregate(S seed, U update, C combine, F finish = {}) const {
    if constexpr (!check::aggregate::seed<S, U, C, F, T>()) return refused{};
    else return custom<S, U, C, F>{{}, std::move(seed), std::move(update), std::move(combine), std::move(finish)};
  }
  template <class S, class U> auto aggregate(const S&, const U&) const {
    check::aggregate::no_combine<S>();
    return refused{};
  }

  template <class D = void> const T* begin() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return nullptr; }
  template <class D = void> const T* end() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return nullptr; }
  template <class D = void> std::span<const T> rows() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return {}; }
  template <class D = void> std::size_t size() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return {}; }
  // A group is no query: its rows are chosen within the aggregate.
  template <class F> refused_rows where(const F&) const {
    static_assert(detail::never<F>, "query: where: a group has aggregates only. Choose rows within one: g.count(p), "
                                    "g.sum([](auto t) { return query::iff(t.qty > 100, t.price, 0.0); }); or before group_by, by where(p)");
    return {};
  }
#define QUERY_DETAIL_VERB_OF_ROWS(verb, instead)                                                                                       \
  template <class... A> refused verb(const A&...) const {                                                                               \
    static_assert(detail::never<std::tuple<A...>>, "query: " #verb ": a group has aggregates only" instead ". Verbs over its rows: "     \
                                                   "[](const query::Group<Key, Row>& g) { return query::from(g.rows())." #verb "..."); \
    return {};                                                                                                                          \
  }
  QUERY_DETAIL_VERB_OF_ROWS(distinct, ", such as g.count_distinct(f)") QUERY_DETAIL_VERB_OF_ROWS(select, ", such as g.collect(f)")
  QUERY_DETAIL_VERB_OF_ROWS(top, ", such as g.arg_max(f)") QUERY_DETAIL_VERB_OF_ROWS(take, ", such as g.first()")
  QUERY_DETAIL_VERB_OF_ROWS(order_by, ", such as g.arg_min(f)")
  QUERY_DETAIL_VERB_OF_ROWS(order_by_descending, ", such as g.arg_max(f)")
#undef QUERY_DETAIL_VERB_OF_ROWS

 private:
  // g.arg_max(f).price: of a row that is there for sure, the fields.
  template <class F, class A> static auto best_row(A a) {
    if constexpr (nullable<F, T>) return a;
    else return with_fields<T>(std::move(a));
  }
};

// The same functions as expressions: what the plan shows and other engines run.
template <class K, class T> struct traced_group {
  auto key() const {
    return detail::make_twin<K>(ir::current_arena().put(ir::op::key, ir::describe<K>()));
  }
  auto count() const { return leaf<std::int64_t>("count", {}); }
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
  template <class R> static auto leaf(const char* name, std::vector<const ir::node*> kids) {
    ir::node n;
    n.what = ir::op::aggregate;
    n.type = ir::describe<R>();
    n.kids = std::move(kids);
    n.text = name;
    return detail::make_twin<R>(ir::current_arena().put(std::move(n)));
  }
  template <class A, class F> static auto of(const char* name, const F& f, std::span<const ir::node* const> more = {}) {
    using R = value_of<A, K, T>;
    if constexpr (!ir::described_v<T>) {
      ir::give_up(detail::no_record<T>());
      return leaf<R>(name, {});
    } else if constexpr (detail::is_accelerated<F>) {
      const ir::type* rows[] = {ir::describe<T>()};
      std::vector<const ir::node*> kids{detail::device_call_node(*f.device(), ir::describe<given<F, T>>(), rows)};
      kids.insert(kids.end(), more.begin(), more.end());
      return leaf<R>(name, std::move(kids));
    } else if constexpr (detail::wrapper<F>::opaque) {
      ir::give_up("query::opaque");
      return leaf<R>(name, {detail::row_node(ir::describe<T>(), 0)});
    } else if constexpr (!detail::is_callable<const F&, const detail::twin_t<T>&> || detail::names_its_types<F>) {
      if constexpr (!std::is_same_v<F, itself>) ir::give_up(std::string(name) + "(f): the parameter of f is not generic (write `auto`)");
      return leaf<R>(name, {detail::row_node(ir::describe<T>(), 0)});
    } else {
      using X = std::invoke_result_t<const F&, const detail::twin_t<T>&>;
      if constexpr (!std::is_same_v<detail::held_t<X>, given<F, T>>)
        ir::give_up(std::string(name) +
                    "(f): " + detail::types_differ(detail::type_name<detail::held_t<X>>(), detail::type_name<given<F, T>>()));
      std::vector<const ir::node*> kids{
          ir::explore([&] { return detail::to_node(f(detail::make_twin<T>(detail::row_node(ir::describe<T>(), 0)))); })};
      kids.insert(kids.end(), more.begin(), more.end());
      return leaf<R>(name, std::move(kids));
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

}  // namespace agg

namespace detail {
template <class X> requires agg::is_key_shape<X> inline constexpr bool is_deferred<X> = true;
}  // namespace detail

// The rows of a group, in source order, with the aggregates as plain values.
template <class K, class T> class Group {
 public:
  Group() = default;
  Group(K k, std::vector<T> rows) : key_(std::move(k)), rows_(std::move(rows)) {}
  // By reference; of a group that ends with the statement, by value.
  const K& key() const& { return key_; }
  K key() && { return std::move(key_); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  std::size_t size() const { return rows_.size(); }
  const T& operator[](std::size_t i) const { return rows_[i]; }
  const std::vector<T>& rows() const& { return rows_; }
  std::vector<T> rows() && { return std::move(rows_); }

  // What the group is made of, for engines that make groups of columns and lists.
  static constexpr std::string_view query_name = "group";
  using query_part_types = std::tuple<K, T>;  // functions of groups trace where these are described
  static std::vector<ir::field> query_parts() {
    if constexpr (!ir::described_v<K> || !ir::described_v<T>) {
      return {};
    } else {
      // Not an aggregate; but addresses of members do not depend on their values.
      alignas(Group) static std::byte storage[sizeof(Group)];
      const Group& shape = *std::launder(reinterpret_cast<const Group*>(storage));
      const auto offset = [](const void* member) { return static_cast<std::size_t>(static_cast<const std::byte*>(member) - storage); };
      return {{"key", ir::describe<K>(), offset(std::addressof(shape.key_))},
              {"rows", ir::describe<std::vector<T>>(), offset(std::addressof(shape.rows_))}};
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(rows_.size()); }
  template <class F> auto count(const F& f) const {
    if constexpr (!check::count::counts<F, T>()) return check::after_error{};
    else return run(agg::count_if<F>{{}, f});
  }
  template <class F = agg::itself> auto sum(const F& f = {}) const {
    if constexpr (!check::sum::number_of<F, T, true>()) return check::after_error{};
    else return run(agg::sum<F>{{}, f});
  }
  template <class F = agg::itself> auto mean(const F& f = {}) const {
    if constexpr (!check::mean::number_of<F, T, true>()) return check::after_error{};
    else return run(agg::mean<F>{{}, f});
  }
  template <class F = agg::itself> auto min(const F& f = {}) const {
    if constexpr (!check::min::ordered<F, T>()) return check::after_error{};
    else return run(agg::extreme<false, F>{{}, f});
  }
  template <class F = agg::itself> auto max(const F& f = {}) const {
    if constexpr (!check::max::ordered<F, T>()) return check::after_error{};
    else return run(agg::extreme<true, F>{{}, f});
  }
  template <class F> auto arg_min(const F& f) && { return std::as_const(*this).arg_min(f); }
  template <class F> decltype(auto) arg_min(const F& f) const& {
    if constexpr (!check::arg_min::ordered<F, T>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme<false, F>{{}, f});
  }
  template <class F> auto arg_max(const F& f) && { return std::as_const(*this).arg_max(f); }
  template <class F> decltype(auto) arg_max(const F& f) const& {
    if constexpr (!check::arg_max::ordered<F, T>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme<true, F>{{}, f});
  }
  template <class F, class Less> auto min(const F& f, const Less& less) const {
    if constexpr (!check::min::custom_order<F, T, Less>()) return check::after_error{};
    else return run(agg::extreme_by<false, F, Less>{{}, f, less});
  }
  template <class F, class Less> auto max(const F& f, const Less& less) const {
    if constexpr (!check::max::custom_order<F, T, Less>()) return check::after_error{};
    else return run(agg::extreme_by<true, F, Less>{{}, f, less});
  }
  template <class F, class Less> auto arg_min(const F& f, const Less& less) && { return std::as_const(*this).arg_min(f, less); }
  template <class F, class Less> decltype(auto) arg_min(const F& f, const Less& less) const& {
    if constexpr (!check::arg_min::custom_order<F, T, Less>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme_by<false, F, Less>{{}, f, less});
  }
  template <class F, class Less> auto arg_max(const F& f, const Less& less) && { return std::as_const(*this).arg_max(f, less); }
  template <class F, class Less> decltype(auto) arg_max(const F& f, const Less& less) const& {
    if constexpr (!check::arg_max::custom_order<F, T, Less>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme_by<true, F, Less>{{}, f, less});
  }
  template <class F = agg::itself> auto average(const F& f = {}) const {
    if constexpr (!check::average::number_of<F, T, true>()) return check::after_error{};
    else return run(agg::mean<F>{{}, f});
  }
  template <class F = agg::itself> auto variance(const F& f = {}) const {
    if constexpr (!check::variance::number_of<F, T>()) return check::after_error{};
    else return run(agg::variance<false, F>{{}, f});
  }
  template <class F = agg::itself> auto stddev(const F& f = {}) const {
    if constexpr (!check::stddev::number_of<F, T>()) return check::after_error{};
    else return run(agg::variance<true, F>{{}, f});
  }
  const T& first() const& {
    if (rows_.empty()) detail::no_row_at_edge("first");
    return rows_.front();
  }
  T first() && { return std::as_const(*this).first(); }
  template <class F> auto first(const F& f) const& {
    if constexpr (!check::first::value<F, T>()) return check::after_error{};
    else return run(agg::edge<false, F>{{}, f});
  }
  const T& last() const& {
    if (rows_.empty()) detail::no_row_at_edge("last");
    return rows_.back();
  }
  T last() && { return std::as_const(*this).last(); }
  template <class F> auto last(const F& f) const& {
    if constexpr (!check::last::value<F, T>()) return check::after_error{};
    else return run(agg::edge<true, F>{{}, f});
  }
  template <class F = agg::itself> auto count_distinct(const F& f = {}) const {
    if constexpr (!check::count_distinct::key<F, T>()) return check::after_error{};
    else return run(agg::count_distinct<F>{{}, f});
  }
  template <class F, class Equal, class Hash> auto count_distinct(const F& f, const Equal& equal, const Hash& hash) const {
    if constexpr (!check::count_distinct::custom_key<F, T, Equal, Hash>()) return check::after_error{};
    else return run(agg::count_distinct_by<F>{{}, f, detail::custom_keys<agg::value_in<F, T>>(equal, hash)});
  }
  template <class F = agg::itself> auto quantile(const F& f, double q) const {
    if (!(q >= 0 && q <= 1)) throw detail::unplaced_error("g.quantile(f, q): q must lie between 0 and 1: " + std::to_string(q));
    if constexpr (!check::quantile::number_of<F, T>()) return check::after_error{};
    else return run(agg::quantile<F>{{}, f, q});
  }
  template <class F = agg::itself> auto collect(const F& f = {}) const {
    if constexpr (!check::collect::value<F, T>()) return check::after_error{};
    else return run(agg::collect<F>{{}, f});
  }
  template <class S, class U, class C, class F = agg::itself>
  auto aggregate(const S& seed, const U& update, const C& combine, const F& finish = {}) const {
    if constexpr (!check::aggregate::seed<S, U, C, F, T>()) return check::after_error{};
    else return run(agg::custom<S, U, C, F>{{}, seed, update, combine, finish});
  }
  template <class F = agg::itself> auto median(const F& f = {}) const {
    if constexpr (!check::median::number_of<F, T>()) return check::after_error{};
    else return run(agg::quantile<F>{{}, f, 0.5});
  }
  template <class F> auto any(const F& f) const {
    if constexpr (!check::any::predicate<F, T>()) return check::after_error{};
    else return decided<false>(f);
  }
  template <class F> auto all(const F& f) const {
    if constexpr (!check::all::predicate<F, T>()) return check::after_error{};
    else return decided<true>(f);
  }

 private:
  // Up to the row that decides, as the traced form goes.
  template <bool All, class F> bool decided(const F& f) const {
    const agg::decided<All, F> a{{}, f};
    typename agg::decided<All, F>::flag s;
    for (std::size_t i = 0; i < rows_.size() && s.v == All; ++i) a.step(s, rows_[i]);
    return s.v;
  }
  // A row is given by reference, as a view of it may be asked for; where f may be null, as a std::optional.
  template <class F, class A> decltype(auto) row_of(const A& a) const {
    if constexpr (agg::nullable<F, T>) {
      return run(a);
    } else {
      typename A::template state_of_part<T, const T*> s{};
      detail::in_runs(0, rows_.size(), [&](std::size_t i, std::size_t end) QUERY_INLINE {
        for (; i < end; ++i) a.step_part(s, rows_[i], [](const T& t) QUERY_INLINE { return &t; });
      });
      const T* const row = A::part(s);
      if (!row) detail::no_row_at_edge(A::name);
      return static_cast<const T&>(*row);
    }
  }
  template <class A> auto run(const A& a) const {
    typename A::template state<T> s{};
    detail::in_runs(0, rows_.size(), [&](std::size_t i, std::size_t end) QUERY_INLINE {
      for (; i < end; ++i) a.step(s, rows_[i]);
    });
    return a.template value<T>(key_, s);
  }
  K key_{};
  std::vector<T> rows_;
};

}  // namespace query
