// do_while, cached, fork, and Value<T>: a number that a query will give.
#pragma once

#include <query/aggregates.hpp>
#include <query/detail/divide.hpp>
#include <query/verbs/breaker.hpp>

namespace query {

// A query of one row, with the operators of T: lazily, wherever it runs. get() runs it.
template <class T> class Value {
 public:
  using value_type = T;
  template <class Chain> explicit Value(const Query<T, Chain>& q) : pipe_(q.to_pipe()), settings_(q.run_settings()) {}
  Value(const Value&) = default;  // no moves, as of every query
  Value& operator=(const Value&) = default;
  T get() const {
    alignas(T) std::byte raw[sizeof(T)];
    detail::run_single(pipe_, settings_, raw);
    T* at = std::launder(reinterpret_cast<T*>(raw));
    T result = std::move(*at);
    at->~T();
    return result;
  }
  // if (value) does not compile, and says what does.
  template <class X = T> explicit operator bool() const {
    static_assert(sizeof(X) == 0, "query: value_of: this is a query::Value, which is not computed yet, and not a condition. "
                                  "Write .get() after it: if ((query::value_of(q).count() > 3).get()), or q.count() > 3");
    return false;
  }
  // The plan of the query that get() runs.
  std::string explain(detail::call_site at = detail::call_site::here()) const { return query().explain({}, at); }
  std::string explain_dot(detail::call_site at = detail::call_site::here()) const { return query().explain_dot({}, at); }
  std::string explain_json(detail::call_site at = detail::call_site::here()) const { return query().explain_json({}, at); }
  const detail::pipe& to_pipe() const { return pipe_; }
  const detail::settings& run_settings() const { return settings_; }
  Query<T, cpu::rows<T>> query() const { return Query<T, cpu::rows<T>>(pipe_, settings_); }

 private:
  detail::pipe pipe_;
  detail::settings settings_;
};

namespace detail {
template <class X> inline constexpr bool is_traced_optional = false;
template <class E> inline constexpr bool is_traced_optional<expr_optional<E>> = true;
template <class X> inline constexpr bool may_be_none = ir::is_optional_v<X> || is_traced_optional<X>;
template <class X> auto there(const X& x) {
  if constexpr (may_be_none<X>) return *x;
  else return x;
}
// f(x...) of values; nothing where one of them is a null.
template <class F, class... X> auto unless_none(const F& f, const X&... x) {
  if constexpr (!(may_be_none<X> || ...)) {
    return f(x...);
  } else if constexpr (!(is_traced_optional<X> || ...)) {
    std::optional<decltype(f(there(x)...))> r;
    const auto has = []<class V>(const V& v) {
      if constexpr (may_be_none<V>) return v.has_value();
      else return true;
    };
    if ((has(x) && ...)) r = f(there(x)...);
    return r;
  } else {
    using R = held_t<decltype(f(there(x)...))>;
    auto& a = ir::current_arena();
    const ir::type* t = ir::describe<std::optional<R>>();
    const ir::node* result = a.put(ir::op::some, t, {to_node(f(there(x)...))});
    const auto guard = [&]<class V>(const V& v) {
      if constexpr (is_traced_optional<V>) result = ir::make_select(a, v.has(), result, a.put(ir::op::null, t));
    };
    (guard(x), ...);
    return expr_optional<R>(result);
  }
}
}  // namespace detail

namespace verbs {
template <class X> inline constexpr bool is_value = false;
template <class T> inline constexpr bool is_value<Value<T>> = true;
// Operators have no call site of their own: errors name that of the (left) value.
template <class A, class F> auto map_value(const char* label, const A& a, F f) {
  auto q = a.query().select(f, a.to_pipe().node->where, label);
  return Value<typename decltype(q)::row>(q);
}
template <class A, class B, class F> auto combine_values(const char* label, const A& a, const B& b, F f) {
  auto q = a.query().cross_join(b.query(), f, a.to_pipe().node->where, label);
  return Value<typename decltype(q)::row>(q);
}
}  // namespace verbs

// A value that is missing, of no rows, compares as a std::optional does; what is computed from it is missing, too.
#define QUERY_DETAIL_VALUE(sign) QUERY_DETAIL_VALUE_AS(sign, x sign y)
#define QUERY_DETAIL_VALUE_OF(sign, result) \
  QUERY_DETAIL_VALUE_AS(sign, detail::unless_none([](const auto& u, const auto& v) { return result; }, x, y))
#define QUERY_DETAIL_VALUE_AS(sign, result)                                                                            \
  template <class A, class B> auto operator sign(const Value<A>& a, const Value<B>& b) {                              \
    return verbs::combine_values("operator" #sign, a, b, [](const auto& x, const auto& y) { return result; });        \
  }                                                                                                                    \
  template <class A, class B> requires(!verbs::is_value<B>) auto operator sign(const Value<A>& a, const B& b) {       \
    return verbs::map_value("operator" #sign, a, [y = b](const auto& x) { return result; });                          \
  }                                                                                                                    \
  template <class A, class B> requires(!verbs::is_value<A>) auto operator sign(const A& a, const Value<B>& b) {       \
    return verbs::map_value("operator" #sign, b, [x = a](const auto& y) { return result; });                          \
  }
QUERY_DETAIL_VALUE_OF(+, u + v)
QUERY_DETAIL_VALUE_OF(-, u - v)
QUERY_DETAIL_VALUE_OF(*, u * v)
QUERY_DETAIL_VALUE_OF(/, detail::divided(u, v))
QUERY_DETAIL_VALUE(<)
QUERY_DETAIL_VALUE(<=)
QUERY_DETAIL_VALUE(>)
QUERY_DETAIL_VALUE(>=)
QUERY_DETAIL_VALUE(==)
QUERY_DETAIL_VALUE(!=)
QUERY_DETAIL_VALUE(&&)
QUERY_DETAIL_VALUE(||)
#undef QUERY_DETAIL_VALUE
#undef QUERY_DETAIL_VALUE_OF
#undef QUERY_DETAIL_VALUE_AS
template <std::same_as<bool> B> auto operator!(const Value<B>& a) {
  return verbs::map_value("operator!", a, [](const auto& x) { return !x; });
}

// The terminal verbs that give one value, as lazy ones: value_of(q).sum(f) > 10 is a Value<bool>. Of no rows: what reduce gives,
// an empty std::optional of min, max, mean and the like.
template <class Q> class lazily {
 public:
  using T = typename Q::row;
  using call_site = detail::call_site;
  explicit lazily(Q q) : q_(std::move(q)) {}
  auto count(call_site at = call_site::here()) const { return one([](auto g) { return g.count(); }, at, "count"); }
#define QUERY_DETAIL_LAZILY(name, function)                                                                                   \
  template <verbs::key_function F> auto name(F f, call_site at = call_site::here()) const {                                   \
    return one([f](auto g) { return g.function(f); }, at, #name);                                                             \
  }
#define QUERY_DETAIL_LAZILY_OF_ROWS(name, function)                                                                           \
  auto name(call_site at = call_site::here()) const { return one([](auto g) { return g.function(); }, at, #name); }           \
  QUERY_DETAIL_LAZILY(name, function)
#define QUERY_DETAIL_LAZILY_BY_ORDER(name, function)                                                                          \
  template <verbs::key_function F, verbs::key_function Less> auto name(F f, Less less, call_site at = call_site::here()) const { \
    return one([f, less](auto g) { return g.function(f, less); }, at, #name);                                                 \
  }
  QUERY_DETAIL_LAZILY(count, count)
  QUERY_DETAIL_LAZILY_OF_ROWS(sum, sum)
  QUERY_DETAIL_LAZILY_OF_ROWS(mean, mean)
  QUERY_DETAIL_LAZILY_OF_ROWS(average, average)
  QUERY_DETAIL_LAZILY_OF_ROWS(min, min)
  QUERY_DETAIL_LAZILY_OF_ROWS(max, max)
  QUERY_DETAIL_LAZILY_BY_ORDER(min, min)
  QUERY_DETAIL_LAZILY_BY_ORDER(max, max)
  QUERY_DETAIL_LAZILY(min_by, arg_min)
  QUERY_DETAIL_LAZILY(max_by, arg_max)
  QUERY_DETAIL_LAZILY_BY_ORDER(min_by, arg_min)
  QUERY_DETAIL_LAZILY_BY_ORDER(max_by, arg_max)
  QUERY_DETAIL_LAZILY(any, any)
  QUERY_DETAIL_LAZILY(all, all)
  QUERY_DETAIL_LAZILY_OF_ROWS(approx_count_distinct, approx_count_distinct)
#undef QUERY_DETAIL_LAZILY_BY_ORDER
#undef QUERY_DETAIL_LAZILY_OF_ROWS
#undef QUERY_DETAIL_LAZILY
  template <verbs::key_function F> auto approx_quantile(F f, double q, call_site at = call_site::here()) const {
    return one([f, q](auto g) { return g.approx_quantile(f, q); }, at, "approx_quantile");
  }
  template <verbs::key_function F, class N> auto top_k_frequent(F f, N k, call_site at = call_site::here()) const {
    return one([f, k](auto g) { return g.top_k_frequent(f, k); }, at, "top_k_frequent");
  }
  auto any(call_site at = call_site::here()) const { return of(q_.take(1, at, "any"), [](auto g) { return g.count() > 0; }, at, "any"); }
  auto contains(const detail::given_row<T>& given, call_site at = call_site::here()) const {
    if constexpr (!check::contains::equal<T>()) return check::after_error{};
    else {
      const bool fits = detail::fits_rows<T>(given);
      const T value = detail::row_of_given<T>(given);
      return any([value, fits](const T& r) { return fits && r == value; }, at);
    }
  }
  template <verbs::key_function Equal> auto contains(detail::given_row<T> given, Equal equal, call_site at = call_site::here()) const {
    const T value = detail::fitting_row<T>("contains", given, at);
    if constexpr (!check::contains::custom_equal<Equal, T, T>()) return check::after_error{};
    else return any([value, equal](const T& r) { return static_cast<bool>(equal(r, value)); }, at);
  }
  // A user_error where there is no such row.
  auto first(call_site at = call_site::here()) const { return of(q_.take(1, at, "first"), [](auto g) { return g.first(); }, at, "first"); }
  auto last(call_site at = call_site::here()) const { return of(q_.take_last(1, at, "last"), [](auto g) { return g.last(); }, at, "last"); }
  template <verbs::key_function F> auto first(F f, call_site at = call_site::here()) const {
    if constexpr (!check::first::predicate<F, T>()) return check::after_error{};
    else return of(q_.where(f, at, "first").take(1, at, "first"), [](auto g) { return g.first(); }, at, "first");
  }
  template <verbs::key_function F> auto last(F f, call_site at = call_site::here()) const {
    if constexpr (!check::last::predicate<F, T>()) return check::after_error{};
    else return of(q_.where(f, at, "last").take_last(1, at, "last"), [](auto g) { return g.last(); }, at, "last");
  }
  template <class F> auto reduce(F f, call_site at = call_site::here()) const { return one(f, at, "reduce"); }
  template <class F>
  requires(!agg::is_named<F>) auto aggregate(F f, call_site at = call_site::here()) const { return one(f, at, "aggregate"); }
  // aggregate(sum(f), count()), functions of query::aggregates: a Value<std::tuple<...>>.
  template <class... A> requires agg::any_named<A...> auto aggregate(A... a) const {
    const call_site at = agg::place_of(a...);
    return one(agg::all_of<A...>{std::tuple<A...>(std::move(a)...)}, at, "aggregate");
  }
  template <class S, class U, class C, class R = agg::itself> requires(!agg::any_named<S, U, C, R>)
  auto aggregate(S seed, U update, C combine, R result = {}, call_site at = call_site::here()) const {
    if constexpr (!check::aggregate::seed<S, U, C, R, T>()) return check::after_error{};
    else return one([=](auto g) { return g.aggregate(seed, update, combine, result); }, at, "aggregate");
  }
  template <class S, class U> requires(!agg::any_named<S, U> && !std::is_same_v<U, call_site>) auto aggregate(const S&, const U&) const {
    check::aggregate::no_combine<S>();
    return check::after_error{};
  }

 private:
  template <class F> auto one(F f, call_site at, const char* label) const {
    if constexpr (agg::is_named<F>) return of(q_, f.of, at, label);
    else return of(q_, f, at, label);
  }
  template <class R, class F> static auto of(const R& rows, const F& f, call_site at, const char* label) {
    auto a = rows.aggregate(f, at, label);
    if constexpr (std::is_same_v<decltype(a), check::after_error>) return a;
    else return Value<typename decltype(a)::row>(a);
  }
  Q q_;
};
// Of a query, or of what query::from takes.
template <class Q> auto value_of(Q&& rows, detail::call_site at = detail::call_site::here()) {
  decltype(auto) q = verbs::other_rows(std::forward<Q>(rows), at);
  using X = std::remove_cvref_t<decltype(q)>;
  if constexpr (!check::value_of::query<X>()) return check::after_error{};
  else return lazily<X>(q);
}

// The condition of a loop that runs a fixed number of rounds, at least 1.
struct times {
  std::uint64_t rounds;
  explicit times(std::uint64_t n) : rounds(n) {}
};

namespace verbs {

template <class Derived, class T> class loops {
 public:
  // Repeats `body` while `condition` holds: rows = body(rows), at least once.
  //   body(Query<T>) -> a query of T. It is called once, with a placeholder for the loop's rows, and planned once: what does
  //     not depend on the placeholder is computed once and kept.
  //   condition(Query<T> previous, Query<T> next) -> Value<bool>, evaluated where the loop runs; or a host function of
  //     (std::span<const T>, std::span<const T>) -> bool; or times(n).
  // most_rounds > 0 ends the loop with a user_error after so many rounds; 0: no limit. times(n) of more is one at once.
  template <class B, class C> auto do_while(B body, C condition, std::uint64_t most_rounds = 0, call_site at = call_site::here()) const {
    using Rows = Query<T, cpu::rows<T>>;
    if constexpr (!check::do_while::body<B, Rows>()) return check::after_error{};
    else if constexpr (std::is_same_v<C, times>) return looped(body, condition, most_rounds, at);
    else if constexpr (!check::do_while::condition<C, T, Rows, Value<bool>>()) return check::after_error{};
    else return looped(body, condition, most_rounds, at);
  }
  QUERY_DETAIL_NEEDS(do_while, 2, "takes the body and a condition: do_while(body, query::times(10)), or do_while(body, [](auto previous, "
                                  "auto next) { return query::value_of(next).sum() > 10; })")
  // Computed once for each session and kept as long as a query made from this one is alive. Words behind it, as_accelerated(),
  // named() and the like, change how and where that is done if it has not been done; the rows stay the same. Of verbs whose order is
  // free, as_ordered() anywhere behind it needs other rows, which then take the place of those kept.
  auto cached(call_site at = call_site::here(), const char* label = "cached") const { return shared_rows(at, label, nullptr); }
  // Rows in files of the session's checkpoint folder, under a name of letters, digits, '-', '_' and '.': a program that is started again
  // goes on from them, if code, query, captured values and rows of sources are the same; others are a user_error. Behind do_while: rows of
  // its rounds, as often as that takes at most 5% of the time; else all rows, as with cached().
  auto checkpoint(const std::string& name, call_site at = call_site::here()) const {
    detail::check_checkpoint_name(name, at);
    const std::shared_ptr<const detail::logical> last = self().to_pipe().node;
    std::shared_ptr<detail::logical> n;
    if (last->what == detail::verb::do_while) {
      n = std::make_shared<detail::logical>(*last);
    } else {
      n = new_node<T>(detail::verb::cached, "checkpoint", at, self());
      name_part(*n, "cached");
      n->kept_as = std::make_shared<const char>();
    }
    n->checkpoint = name;
    return finish<T>(std::move(n), self());
  }
  // Several queries over the same rows, which are computed once: auto [a, b] = q.fork(f, g). What the functions capture by value lives as
  // long as the queries do.
  template <class... F> auto fork(F&&... f) const {
    using Shared = decltype(cached());
    if constexpr ((check::fork::branch<std::decay_t<F>, Shared>() && ...)) {
      const auto own = std::make_shared<const std::tuple<std::decay_t<F>...>>(std::forward<F>(f)...);
      const Shared shared = shared_rows(self().to_pipe().node->where, "fork", own);  // behind functions there is no room for a call site
      return std::apply([&](const auto&... function) { return std::tuple(function(shared)...); }, *own);
    } else {
      return std::array<check::after_error, sizeof...(F)>{};
    }
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  auto shared_rows(call_site at, const char* label, std::shared_ptr<const void> made_by) const {
    auto n = new_node<T>(detail::verb::cached, label, at, self());
    name_part(*n, "cached");
    n->kept_as = std::make_shared<const char>();
    n->made_by = std::move(made_by);
    return finish<T>(std::move(n), self());
  }
  template <class B, class C> auto looped(B& body, C& condition, std::uint64_t most_rounds, call_site at) const {
    using Rows = Query<T, cpu::rows<T>>;
    if constexpr (std::is_same_v<C, times>) {
      const auto rounds = static_cast<std::int64_t>(condition.rounds);
      if (rounds < 1) detail::fail("do_while", "query::times(" + std::to_string(rounds) + "): a loop runs at least once: at least 1", at);
      if (most_rounds && condition.rounds > most_rounds)
        detail::fail("do_while",
                     "query::times(" + std::to_string(rounds) +
                         ") is more than the most rounds that the third argument allows: " + std::to_string(most_rounds),
                     at);
    }
    auto n = new_node<T>(detail::verb::do_while, "do_while", at, self());
    n->slot = detail::next_slot();
    // Queries of what the functions captured refer to the copies in these.
    const auto own = std::make_shared<std::pair<B, C>>(std::move(body), std::move(condition));
    n->made_by = own;
    const Rows result = own->first(placeholder(n->slot, at));
    n->inputs.push_back(result.to_pipe());
    detail::settings inner = result.run_settings();
    if constexpr (std::is_same_v<C, times>) {
      n->label = "do_while(" + std::to_string(own->second.rounds) + " times)";
      n->count = own->second.rounds;
    } else if constexpr (std::is_invocable_v<C&, Rows, Rows>) {
      n->previous_slot = detail::next_slot();
      n->next_slot = detail::next_slot();
      auto c = own->second(placeholder(n->previous_slot, at), placeholder(n->next_slot, at));
      n->inputs.push_back(c.to_pipe());
      inner = detail::merged(inner, c.run_settings(), "do_while", at);
    } else {
      n->functions.push_back(detail::make_opaque("condition", own->second, ir::describe<bool>()));
      n->loop_test = [](const void* f, const void* p, std::size_t np, const void* q, std::size_t nq) -> bool {
        return (*static_cast<const C*>(f))(std::span<const T>(static_cast<const T*>(p), np),
                                           std::span<const T>(static_cast<const T*>(q), nq));
      };
    }
    n->most_rounds = most_rounds;
    inner = detail::merged(self().run_settings(), inner, "do_while", at);
    inner = detail::with_captured(std::move(inner), *n);
    return Query<T, cpu::rows<T>>(pipe{std::move(n), nullptr}, std::move(inner));
  }
  auto placeholder(std::uint64_t slot, call_site at) const {
    auto p = std::make_shared<logical>();
    p->what = detail::verb::placeholder;
    p->label = "loop variable";
    p->row = ir::describe<T>();
    p->slot = slot;
    p->where = at;
    p->accelerated = self().to_pipe().node->accelerated;
    p->fast_math = self().to_pipe().node->fast_math;
    return Query<T, cpu::rows<T>>(pipe{std::move(p), nullptr}, nullptr);  // run by the settings of the loop
  }
};

}  // namespace verbs

}  // namespace query
