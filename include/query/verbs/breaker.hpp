// How verbs that end a chain add their node to the plan.
#pragma once

#include <string>
#include <utility>

#include <query/detail/check.hpp>
#include <query/detail/execute.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/make_function.hpp>
#include <query/detail/own_keys.hpp>
#include <query/detail/query_state.hpp>

namespace query {

template <class T, class Chain> class Query;

namespace verbs {

using detail::call_site;
using detail::logical;
using detail::pipe;

// A new node over the queries' pipes; it keeps what they asked for.
template <class Out, class... Q> std::shared_ptr<logical> new_node(detail::verb v, std::string label, call_site at, const Q&... inputs) {
  return detail::new_node(v, std::move(label), ir::describe<Out>(), at, {inputs.to_pipe()...});
}
// Says which verb a node is, where the user wrote another that is made of it.
inline void name_part(logical& n, std::string verb) {
  if (n.label != verb) n.part = std::move(verb);
}
// The query of the node, run as its inputs and the queries that its functions capture want to be run.
template <class Out, class First, class... More>
Query<Out, cpu::rows<Out>> finish(std::shared_ptr<logical> n, const First& first, const More&... more) {
  return Query<Out, cpu::rows<Out>>(detail::finished(std::move(n), {&first.run_settings(), &more.run_settings()...}));
}

template <class X> inline constexpr bool is_query = false;
template <class T, class C> inline constexpr bool is_query<Query<T, C>> = true;
template <class X>
concept query_like = is_query<std::remove_cvref_t<X>> || requires(const std::remove_cvref_t<X>& x) {
  x.to_pipe();
  x.run_settings();
};

using detail::custom_keys;

// How query::from takes an R; takes: whether it does. In sources.hpp.
template <class R> struct source_of;
// The rows of a verb's other side: those of a query, or of what query::from takes, with its rules of who keeps them alive.
template <class Q> decltype(auto) other_rows(Q&& q, call_site at) {
  using X = std::remove_cvref_t<Q>;
  if constexpr (check::is_query_v<X> || std::is_same_v<X, check::after_error>) return static_cast<const X&>(q);
  else if constexpr (source_of<Q>::takes) return source_of<Q>::from(std::forward<Q>(q), at);
  else return static_cast<const X&>(q);  // the verb says what is wrong
}

// Functions that compare keys as a verb's last arguments: group_by(key, equal, hash), order_by(key, less).
template <class X>
concept key_function = (std::is_class_v<X> && !std::is_same_v<X, call_site> && !query_like<X>) ||
                       (std::is_pointer_v<X> && std::is_function_v<std::remove_pointer_t<X>>);

// The result of joins and zip without a function: tables head its columns `left` and `right`.
struct pair_rows {
  template <class L, class R> auto operator()(const L& l, const R& r) const { return std::pair<L, R>(l, r); }
};

// Whether rows of type R may go where they are copied, if they are: into pairs and std::optionals.
template <class Check, class R, bool Copied> constexpr bool may_be_copied() {
  if constexpr (Copied) return Check::template copied<R>();
  else return true;
}

// What a verb gives for an equality without its hash, or for a function of a row of type Row in its place.
template <class Check, class Equal, class Row> check::after_error forgot_hash() {
  if constexpr (check::fits<Equal, Row>) Check::template no_second_key<Equal>();
  else Check::template no_hash<Equal>();
  return {};
}

template <class K, class Less> detail::order_calls order_of(Less less) {
  detail::order_calls c;
  c.context = detail::keep(std::move(less));
  c.less = [](const void* x, const void* a, const void* b) -> bool {
    detail::stop_point().check();
    const K &k = *static_cast<const K*>(a), &l = *static_cast<const K*>(b);
    if constexpr (std::is_invocable_r_v<bool, const Less&, const K&, const K&>) return (*static_cast<const Less*>(x))(k, l);
    else return (*static_cast<const Less*>(x))(*k, *l);
  };
  return c;
}

}  // namespace verbs
}  // namespace query
