// query::Query<T>: a lazy, typed query over rows of T.
//
// Verbs return new queries; nothing runs until a terminal verb (verbs/terminals.hpp). Row-wise verbs extend the compile-time
// chain in the second parameter, so that the user's compiler fuses them into one loop; every other verb starts a new chain.
// Any chain converts to Query<T>, which can be named, stored, returned and run as often as one likes.
//
//   query::Query<Trade> large = query::from(trades).where([](auto t) { return t.qty > 100; });
#pragma once

#include <iosfwd>
#include <limits>

#include <query/cpu/segment_form.hpp>
#include <query/detail/check.hpp>
#include <query/detail/execute.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/make_function.hpp>
#include <query/detail/query_state.hpp>
#include <query/detail/text_verbs.hpp>
#include <query/dynamic.hpp>
#include <query/group.hpp>
#include <query/verbs/asof_join.hpp>
#include <query/verbs/composed.hpp>
#include <query/verbs/element_results.hpp>
#include <query/verbs/explained.hpp>
#include <query/verbs/grouping.hpp>
#include <query/verbs/joins.hpp>
#include <query/verbs/loops.hpp>
#include <query/verbs/names_elsewhere.hpp>
#include <query/verbs/ordering.hpp>
#include <query/verbs/over.hpp>
#include <query/verbs/reshaping.hpp>
#include <query/verbs/sequence.hpp>
#include <query/verbs/sets.hpp>
#include <query/verbs/terminals.hpp>
#include <query/verbs/uncopied.hpp>

namespace query {

namespace verbs {

template <class Derived, class T> class of_copied_rows : public grouping<Derived, T>,
                                                         public joins<Derived, T>,
                                                         public asof_joins<Derived, T>,
                                                         public ordering<Derived, T>,
                                                         public sets<Derived, T>,
                                                         public sequence<Derived, T>,
                                                         public loops<Derived, T>,
                                                         public windows<Derived, T>,
                                                         public composed<Derived, T>,
                                                         public reshaping<Derived, T>,
                                                         public terminals<Derived, T> {
 public:
  // Both a lazy verb, aggregate(function of a group), and a terminal one, aggregate(seed, update, combine, result).
  using grouping<Derived, T>::aggregate;
  using terminals<Derived, T>::aggregate;
};
// A struct that holds a query of its own kind is not complete yet: it can be copied, as far as anybody knows.
template <class T> constexpr bool copied_rows() {
  if constexpr (requires { sizeof(T); }) return ir::copies_v<T>;
  else return true;
}
template <class Derived, class T> using of_rows = std::conditional_t<copied_rows<T>(), of_copied_rows<Derived, T>, uncopied<Derived, T>>;

}  // namespace verbs

template <class T, class Chain = cpu::rows<T>> class Query : public verbs::of_rows<Query<T, Chain>, T>,
                                                                 public verbs::names_elsewhere {
 public:
  using row = T;

  // What the library builds queries from; users call query::from.
  Query(const detail::query_state& state, const Chain& chain) : state_(state), chain_(chain) {}
  explicit Query(const detail::query_state& state) requires std::is_same_v<Chain, cpu::rows<T>> : state_(state) {}
  Query(detail::pipe origin, detail::settings s) requires std::is_same_v<Chain, cpu::rows<T>>
      : state_(std::move(origin), std::move(s)) {}

  // No rows: for a variable or a member that is given its query later.
  Query() requires std::is_same_v<Chain, cpu::rows<T>> : Query(rows_pipe<T>({}, detail::call_site{}), nullptr) {
    auto n = detail::copy_of(*state_.node);
    n->label = "empty query";
    state_.node = state_.origin.node = std::move(n);
  }
  // No moves: what was moved from is a query still, as cheap as a copy is.
  Query(const Query&) = default;
  Query& operator=(const Query&) = default;
  // Any chain becomes a Query<T>; its loop stays compiled, behind one call a batch.
  template <class Other> requires(std::is_same_v<Chain, cpu::rows<T>> && !std::is_same_v<Other, Chain>)
  Query(const Query<T, Other>& q) : state_(q.to_any_pipe(), q.run_settings()) {}  // NOLINT: the point of it

  // ---- row-wise verbs
  // Keeps the rows for which f is true; f takes the row, or the row and its number (std::int64_t, from 0). Or a condition as a text that a
  // user typed: where("price > 3 and symbol in (7, 9)"), where(query::parsed("price > ?", limit)); throws text_error (text.hpp).
  // (`label`: the verb that errors and plans name, where this is a part of another.)
  template <class F> auto where(F f, detail::call_site at = detail::call_site::here(), const char* label = "where") const {
    if constexpr (detail::is_typed_text<F>) {
      if constexpr (!detail::fields_are_known<T>()) return check::after_error{};
      else return Query<T>(detail::where_text(to_any_pipe(), state_.how, detail::text_of(f), ir::describe<T>(), label, at));
    } else if constexpr (!check::where::tests<F, T>()) {
      return check::after_error{};
    } else if constexpr (check::takes_number<F, T>) {
      auto [origin, chain] = positioned(at);
      return extend<T>(detail::verb::where, label, detail::make_positioned<T>("predicate", f, ir::describe<bool>()), at, origin,
                       cpu::where_at<decltype(chain), F>(chain, f));
    } else {
      return extend<T>(detail::verb::where, label, detail::make_filter<T>("predicate", f), at, state_.origin,
                       cpu::where<Chain, F>(chain_, f));
    }
  }
  QUERY_DETAIL_NEEDS(where, 1, "the predicate is missing: where([](auto t) { return t.qty > 100; })")
  QUERY_DETAIL_NEEDS(select, 1, "the function is missing: select([](auto t) { return t.price; })")
  QUERY_DETAIL_NEEDS(select_many, 1, "the function is missing: select_many([](const auto& t) { return t.items; })")
  // Replaces each row by f(row), or f(row, number).
  template <class F> auto select(F f, detail::call_site at = detail::call_site::here(), const char* label = "select") const {
    if constexpr (!check::select::maps<F, T>()) {
      return check::after_error{};
    } else if constexpr (check::takes_number<F, T>) {
      auto [origin, chain] = positioned(at);
      using link = cpu::select_at<decltype(chain), F>;
      using R = typename link::row;
      return extend<R>(detail::verb::select, label, detail::make_positioned<T>("projection", f, ir::describe<R>()), at, origin,
                       link(chain, f));
    } else {
      using R = detail::result_of<F, T>;
      return extend<R>(detail::verb::select, label, detail::make_map<T, R>("projection", f), at, state_.origin,
                       cpu::select<Chain, F>(chain_, f));
    }
  }
  // Replaces each row by the elements of f(row), or of f(row, number), any range.
  template <class F>
  auto select_many(F f, detail::call_site at = detail::call_site::here(), const char* label = "select_many") const {
    if constexpr (!check::select_many::all<F, T>()) {
      return check::after_error{};
    } else if constexpr (check::takes_number<F, T>) {
      return verbs::numbered(*this, at, "select_many").select_many(verbs::of_numbered<T>(f), at);
    } else {
      using link = cpu::select_many<Chain, F>;
      using R = typename link::row;
      detail::user_function u = detail::make_expansion<T, R>("collection", f);
      u.native.expand = [](const void* g, const void* rows, std::size_t n, detail::batch_sink& to) {
        cpu::batch<R> out;
        const detail::stop_point stop;
        std::size_t given = 0;
        for (std::size_t i = 0; i < n; ++i) {
          auto&& seen = detail::seen_by<F>(static_cast<const T*>(rows)[i]);
          for (auto&& x : detail::call(*static_cast<const F*>(g), seen)) {
            ::new (static_cast<void*>(out.end())) R(detail::as_stored<R>(x));
            out.grow(1);
            if (out.full()) out.flush(to);
            if (++given % detail::calls_a_look == 0) stop.check();
          }
          if (i % detail::calls_a_look == 0) stop.check();
        }
        out.flush(to);
      };
      return extend<R>(detail::verb::select_many, label, std::move(u), at, state_.origin, link(chain_, f));
    }
  }
  // By result(row, element) for each element of f(row), or of f(row, number).
  template <class F, verbs::key_function G> auto select_many(F f, G result, detail::call_site at = detail::call_site::here()) const {
    if constexpr (check::takes_number<F, T>) {
      if constexpr (!check::select_many::result<F, G, T, std::int64_t>()) return check::after_error{};
      else return verbs::numbered(*this, at, "select_many").select_many(verbs::with_elements_of<T>(f, result), at);
    } else {
      if constexpr (!check::select_many::result<F, G, T>()) return check::after_error{};
      else return select_many(verbs::elements_with_row<F, G>{std::move(f), std::move(result)}, at);
    }
  }
  // Of rows that are a std::variant: those that hold a U, as that.
  template <class U> auto of_type(detail::call_site at = detail::call_site::here()) const {
    if constexpr (!check::of_type::alternative<U, T>()) return check::after_error{};
    else
      return where([](const T& r) { return holds_alternative<U>(r); }, at, "of_type")
          .select([](const T& r) { return *get_if<U>(&r); }, at, "of_type");
  }
  // Numbers and enums as another type, by static_cast. as_type<double>().
  template <class U> auto as_type(detail::call_site at = detail::call_site::here()) const {
    if constexpr (!check::as_type::converts<U, T>()) return check::after_error{};
    else return select([](const auto& r) { return query::cast<U>(r); }, at, "as_type");
  }
  // Rows that hold a value, without the optional around it.
  auto values(detail::call_site at = detail::call_site::here(), const char* label = "values") const {
    if constexpr (!check::values::optionals<T>()) return check::after_error{};
    else return where([](const auto& r) { return r.has_value(); }, at, label).select([](const auto& r) { return *r; }, at, label);
  }

  // The same query without the chain in its type: for templates over Query<T>, members, returns.
  Query<T> as_query() const { return *this; }

  // The same query with columns that are named when the program runs: dynamic.hpp.
  dynamic_query as_dynamic() const {
    if constexpr (detail::fields_are_known<T>()) return dynamic_query(detail::query_state(to_any_pipe(), state_.how));
    else return dynamic_query(state_);
  }

  // ---- words about how and where
  Query as_accelerated() const { return marked([](detail::logical& n) { n.accelerated = true; }); }
  Query require_gpu() const { return marked([](detail::logical& n) { n.accelerated = n.gpu_required = true; }); }
  // Permits the GPU to compute the functions of the verb before it and of those behind with fused multiply-adds, approximate
  // division, roots and exp, log, sin, cos of floats, and subnormal floats as zero: results differ from the CPU's in their last
  // digits, of floats by a few units of 1e-7. Without it they are IEEE's. The CPU computes as ever. docs/gpu-verbs.md
  Query fast_math() const { return marked([](detail::logical& n) { n.fast_math = true; }); }
  // Orders the verb before it to an engine, whatever else was said: engine::cpu keeps it from the GPU; engine::gpu permits the
  // GPU from here on, as as_accelerated() does, and is a user_error where the GPU cannot run that verb.
  Query on(engine e) const {
    return marked([e](detail::logical& n) {
      n.ordered_to = e;
      if (e == engine::gpu) n.accelerated = true;
    });
  }
  Query as_ordered() const { return marked([](detail::logical& n) { n.ordered = true; }); }
  Query named(std::string name) const { return marked([&](detail::logical& n) { n.name = std::move(name); }); }
  // The session that the query runs in; said again, it replaces the one before. Queries that are put together must not name two.
  Query in(const Session& s) const { return with_settings([&](detail::run_settings& r) { r.session = s.state(); }); }
  Query verify() const { return with_settings([](detail::run_settings& r) { r.verify = true; }); }
  // The terminal verb throws query::cancelled after so many seconds: at once for 0, never for infinity. Said again, it replaces
  // the limit before.
  Query timeout(double seconds, detail::call_site at = detail::call_site::here()) const {
    if (!(seconds >= 0)) detail::fail("timeout", "the seconds must not be negative", at);
    return with_settings([&](detail::run_settings& r) {
      r.seconds = seconds > 0 ? seconds : std::numeric_limits<double>::min();
    });  // 0 there: none was said
  }
  // The same of a std::chrono::duration: timeout(std::chrono::milliseconds(250)).
  template <class Duration> requires requires(const Duration& d) { d.count(); Duration::period::num; }
  Query timeout(const Duration& d, detail::call_site at = detail::call_site::here()) const {
    using period = typename Duration::period;
    return timeout(static_cast<double>(d.count()) * static_cast<double>(period::num) / static_cast<double>(period::den), at);
  }
  // Stops when token.stop_requested(): a std::stop_token or anything like it. The terminal verb throws query::cancelled, or
  // what stop_requested() throws. Tokens of other types are asked about once a millisecond, by one thread at a time.
  // Each of several tokens stops the query.
  template <class Token> Query stop_on(Token token) const {
    if constexpr (!check::stop_on::token<Token>()) return *this;
    else return with_settings([&](detail::run_settings& r) {
      const auto asked = [](const void* t) -> bool { return static_cast<const Token*>(t)->stop_requested(); };
      r.stops.add({detail::keep(std::move(token)), asked, &typeid(Token)});
    });
  }
  // report(fraction) is called now and then, by any thread, one call at a time; so is each of several.
  template <class F> Query on_progress(F report) const {
    if constexpr (!check::on_progress::takes_fraction<F>()) return *this;
    else
      return with_settings([&](detail::run_settings& r) {
        r.progress.add(
            {detail::keep(std::move(report)), [](const void* f, double fraction) { (*static_cast<const F*>(f))(fraction); }});
      });
  }

  // ---- the plan
  // The plan as text: verbs with their expressions, the kind of every function, where each vertex runs and why.
  // With the name of a terminal verb, as that verb runs it: explain("sum"); with the argument of a verb that needs one:
  // explain("min_by", f), explain("element_at", 5), explain("aggregate", sum(f), count()). Throws user_error for other names.
  std::string explain(std::string_view terminal = {}, detail::call_site at = detail::call_site::here()) const {
    return verbs::for_terminal(*this, terminal, at,
                               [&](const auto& q) { return detail::explain(q.to_pipe(), q.run_settings(), terminal, at); });
  }
  std::string explain_dot(std::string_view terminal = {}, detail::call_site at = detail::call_site::here()) const {
    return verbs::for_terminal(*this, terminal, at,
                               [&](const auto& q) { return detail::explain_dot(q.to_pipe(), q.run_settings(), terminal, at); });
  }
  // The same as JSON, for programs: the cluster, machine and GPU graphs, what is expected of their vertices, and what the last run did.
  std::string explain_json(std::string_view terminal = {}, detail::call_site at = detail::call_site::here()) const {
    return verbs::for_terminal(*this, terminal, at,
                               [&](const auto& q) { return detail::explain_json(q.to_pipe(), q.run_settings(), terminal, at); });
  }
  template <class X> requires(!std::is_same_v<X, detail::call_site> && !agg::is_named<X>)
  std::string explain(std::string_view terminal, const X& argument, detail::call_site at = detail::call_site::here()) const {
    return verbs::with_argument(*this, terminal, argument, at, [&](const auto& q) { return q.explain(terminal, at); });
  }
  template <class X> requires(!std::is_same_v<X, detail::call_site> && !agg::is_named<X>)
  std::string explain_dot(std::string_view terminal, const X& argument, detail::call_site at = detail::call_site::here()) const {
    return verbs::with_argument(*this, terminal, argument, at, [&](const auto& q) { return q.explain_dot(terminal, at); });
  }
  template <class X> requires(!std::is_same_v<X, detail::call_site> && !agg::is_named<X>)
  std::string explain_json(std::string_view terminal, const X& argument, detail::call_site at = detail::call_site::here()) const {
    return verbs::with_argument(*this, terminal, argument, at, [&](const auto& q) { return q.explain_json(terminal, at); });
  }
  template <class... A> requires agg::any_named<A...> std::string explain(std::string_view terminal, const A&... a) const {
    return verbs::with_aggregates(*this, terminal, [&](const auto& q, detail::call_site at) { return q.explain(terminal, at); }, a...);
  }
  template <class... A> requires agg::any_named<A...> std::string explain_dot(std::string_view terminal, const A&... a) const {
    return verbs::with_aggregates(*this, terminal, [&](const auto& q, detail::call_site at) { return q.explain_dot(terminal, at); }, a...);
  }
  template <class... A> requires agg::any_named<A...> std::string explain_json(std::string_view terminal, const A&... a) const {
    return verbs::with_aggregates(*this, terminal, [&](const auto& q, detail::call_site at) { return q.explain_json(terminal, at); }, a...);
  }

  // K: what the terminal verb folds the rows to.
  template <detail::fold_kind K = detail::fold_kind::count> detail::pipe to_pipe() const { return pipe_by<K>(); }
  // For whatever terminal verb may come.
  detail::pipe to_any_pipe() const {
    using enum detail::fold_kind;
    if constexpr (cpu::folds<T>) return pipe_by<count, sum, min, max, average>();
    else return pipe_by<count>();
  }
  const detail::settings& run_settings() const { return state_.how; }

 private:
  template <detail::fold_kind... Folds> detail::pipe pipe_by() const {
    if constexpr (Chain::identity) return state_.origin;
    else
      return {state_.node, detail::make_segment(state_.origin, ir::describe<typename Chain::source>(), ir::describe<T>(),
                                                cpu::segment_form_of<Chain, Folds...>, std::addressof(chain_))};
  }
  template <class R, class Link>
  Query<R, Link> extend(detail::verb v, const char* label, detail::user_function&& f, detail::call_site at, const detail::pipe& origin,
                        const Link& link) const {
    return {detail::extended(state_, origin, v, label, std::move(f), ir::describe<R>(), at), link};
  }
  // A function of the row's number needs rows whose numbers are known: a filter upstream ends the chain.
  auto positioned(detail::call_site) const {
    if constexpr (Chain::filters || Chain::columnar) return std::pair(to_pipe(), cpu::rows<T>{});
    else return std::pair(state_.origin, chain_);
  }
  template <class Change> Query marked(Change change) const {
    auto n = detail::copy_of(*state_.node);
    change(*n);
    Query q = *this;
    q.state_.node = n;
    if constexpr (Chain::identity) q.state_.origin.node = n;
    return q;
  }
  template <class Change> Query with_settings(Change change) const {
    auto s = detail::copy_of(state_.how);
    change(*s);
    Query q = *this;
    q.state_.how = std::move(s);
    return q;
  }

  detail::query_state state_;
  [[no_unique_address]] Chain chain_;
};

// std::cout << q does not compile, and says what does.
template <class Traits, class Q> requires(verbs::query_like<Q> || verbs::is_grouped<Q>)
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, const Q&) {
  static_assert(sizeof(Q) == 0,
                "query: operator<<: a query has no text of its own. Write q.print() or std::cout << q.table() for its first "
                "rows, `for (const auto& row : q)` for all of them, and value.get() for a query::Value");
  return to;
}

// a == b of two queries neither, instead of a list of every == that the program knows.
template <class A, class B> requires((verbs::query_like<A> || verbs::is_grouped<A>) && (verbs::query_like<B> || verbs::is_grouped<B>))
bool operator==(const A&, const B&) {
  static_assert(sizeof(A) == 0, "query: operator==: queries are not compared by ==. Their rows are: a.sequence_equal(b), "
                                "in their order, and !a.sequence_equal(b) for !=");
  return false;
}

}  // namespace query

#undef QUERY_DETAIL_NEEDS
#undef QUERY_DETAIL_ONE_KEY
#undef QUERY_DETAIL_TAKES_ONE_KEY
#undef QUERY_DETAIL_SORT_ARGUMENTS
