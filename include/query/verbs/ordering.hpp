// order_by, order_by_descending, then_by..., top, reverse. Sorts are stable.
//
// Each takes an order of the user's, less(a, b) over keys, after the key function: order_by(key, less). Descending is its
// reverse. It never sees a null: those go where `nulls` says. less must be a strict weak order; it may run on any thread.
#pragma once

#include <query/detail/text_verbs.hpp>
#include <query/verbs/breaker.hpp>

namespace query {

enum class nulls { last, first };

namespace verbs {

// What a sort takes behind its key: less, nulls, both in this order.
template <class... A> inline constexpr bool sort_arguments = false;
template <> inline constexpr bool sort_arguments<> = true;
template <class A> inline constexpr bool sort_arguments<A> = key_function<A> || std::is_same_v<A, nulls> || std::is_same_v<A, bool>;
template <class A, class B>
inline constexpr bool sort_arguments<A, B> = (key_function<A> && std::is_same_v<B, nulls>) ||
                                             (std::is_same_v<A, nulls> && std::is_same_v<B, call_site>);
template <class A, class B> inline constexpr bool sort_arguments<A, B, call_site> = sort_arguments<A, B>;
// Says so of anything else, instead of a list of what the verb could have been.
#define QUERY_DETAIL_SORT_ARGUMENTS(verb)                                                                                                 \
  template <class F, class... A> requires(!sort_arguments<std::decay_t<A>...>) check::after_error verb(const F&, const A&...) const {      \
    static_assert(sizeof(F) == 0, "query: " #verb ": takes the key, then an order of keys and where nulls go, each if it is wanted: "      \
                                  #verb "(key), " #verb "(key, less, query::nulls::first)");                                              \
    return {};                                                                                                                            \
  }

// The next key of a sort.
template <class T, class F, class... Less> void add_order(logical& n, const F& f, detail::order_key k, Less... less) {
  using K = detail::result_of<F, T>;
  if constexpr (sizeof...(less) > 0) k.custom = order_of<K>(std::move(less)...);
  n.functions.push_back(detail::make_map<T, K>("key", f));
  n.order.push_back(std::move(k));
}

// A query in an order that can be refined: by then_by right behind order_by, or behind words about how and where.
template <class T> class Ordered : public Query<T, cpu::rows<T>> {
  using rows = Query<T, cpu::rows<T>>;

 public:
  Ordered(std::shared_ptr<const logical> n, detail::settings s) : Query<T, cpu::rows<T>>(pipe{n, nullptr}, s), order_(std::move(n)) {}
  Ordered(const Ordered&) = default;  // no moves, as of every query
  Ordered& operator=(const Ordered&) = default;
  template <class F> Ordered then_by(F f, nulls where = nulls::last, call_site at = call_site::here()) const {
    if constexpr (detail::is_typed_text<F>) {
      auto n = detail::copy_of(*order_);
      detail::add_text_order(*n, detail::text_of(f), where == nulls::first, "then_by", at);
      return Ordered(std::move(n), this->run_settings());
    } else if constexpr (!check::then_by::sort_key<F, T>()) return *this;
    else return refined("then_by", f, false, where, at);
  }
  template <class F> Ordered then_by_descending(F f, nulls where = nulls::last, call_site at = call_site::here()) const {
    if constexpr (!check::then_by_descending::sort_key<F, T>()) return *this;
    else return refined("then_by_descending", f, true, where, at);
  }
  template <class F, key_function Less> Ordered then_by(F f, Less less, nulls where = nulls::last, call_site at = call_site::here()) const {
    if constexpr (!check::then_by::custom_order<F, T, Less>()) return *this;
    else return refined("then_by", f, false, where, at, std::move(less));
  }
  template <class F, key_function Less>
  Ordered then_by_descending(F f, Less less, nulls where = nulls::last, call_site at = call_site::here()) const {
    if constexpr (!check::then_by_descending::custom_order<F, T, Less>()) return *this;
    else return refined("then_by_descending", f, true, where, at, std::move(less));
  }
  QUERY_DETAIL_SORT_ARGUMENTS(then_by)
  QUERY_DETAIL_SORT_ARGUMENTS(then_by_descending)
  // The words of every query; the order can still be refined behind them.
  Ordered as_accelerated() const { return rows::as_accelerated(); }
  Ordered require_gpu() const { return rows::require_gpu(); }
  Ordered fast_math() const { return rows::fast_math(); }
  Ordered on(engine e) const { return rows::on(e); }
  Ordered as_ordered() const { return rows::as_ordered(); }
  Ordered named(std::string name) const { return rows::named(std::move(name)); }
  Ordered in(const Session& s) const { return rows::in(s); }
  Ordered verify() const { return rows::verify(); }
  Ordered timeout(double seconds, call_site at = call_site::here()) const { return rows::timeout(seconds, at); }
  template <class Token> Ordered stop_on(Token token) const { return rows::stop_on(std::move(token)); }
  template <class F> Ordered on_progress(F report) const { return rows::on_progress(std::move(report)); }

 private:
  Ordered(const rows& q) : rows(q), order_(q.to_pipe().node) {}  // NOLINT: of the same order, marked
  template <class F, class... Less>
  Ordered refined(const char* verb, const F& f, bool descending, nulls where, call_site at, Less... less) const {
    auto n = detail::copy_of(*order_);
    add_order<T>(*n, f, {.descending = descending, .nulls_first = where == nulls::first, .verb = verb, .where = at}, std::move(less)...);
    auto s = detail::with_captured(this->run_settings(), *n, n->functions.size() - 1);
    return Ordered(std::move(n), std::move(s));
  }
  std::shared_ptr<const logical> order_;
};

}  // namespace verbs

// What order_by gives, by name: a query::Query<T> that remembers its order, so that then_by can refine it further on.
template <class T> using Ordered = verbs::Ordered<T>;

namespace verbs {

template <class Derived, class T> class ordering {
 public:
  // NaNs come after all numbers (first in a descending order); nulls last in both directions unless nulls::first. Arrays, tuples and
  // records compare lexicographically. O(n) radix passes for numbers; O(n log n) comparisons only where long strings tie.
  // f: the key of a row, or the keys as a text that a user typed, "price desc, symbol nulls first"; throws text_error (text.hpp).
  template <class F> auto order_by(F f, nulls where = nulls::last, call_site at = call_site::here()) const {
    if constexpr (!detail::is_typed_text<F>) {
      return start<check::order_by>("order_by", f, false, where, at);
    } else if constexpr (!detail::fields_are_known<T>()) {
      return check::after_error{};
    } else {
      auto n = new_node<T>(detail::verb::order_by, "order_by", at, self());
      detail::add_text_order(*n, detail::text_of(f), where == nulls::first, "order_by", at);
      return Ordered<T>(std::move(n), self().run_settings());
    }
  }
  template <class F> auto order_by_descending(F f, nulls where = nulls::last, call_site at = call_site::here()) const {
    return start<check::order_by_descending>("order_by_descending", f, true, where, at);
  }
  // With the user's own order of keys, of any type. O(n log n) comparisons.
  template <class F, key_function Less> auto order_by(F f, Less less, nulls where = nulls::last, call_site at = call_site::here()) const {
    return start<check::order_by>("order_by", f, false, where, at, std::move(less));
  }
  template <class F, key_function Less>
  auto order_by_descending(F f, Less less, nulls where = nulls::last, call_site at = call_site::here()) const {
    return start<check::order_by_descending>("order_by_descending", f, true, where, at, std::move(less));
  }
  // They refine the order of order_by: without one there is nothing to refine.
  template <class F> auto then_by(const F&, nulls = nulls::last) const { check::then_by::after_order<F>(); return check::after_error{}; }
  template <class F> auto then_by_descending(const F&, nulls = nulls::last) const {
    check::then_by_descending::after_order<F>();
    return check::after_error{};
  }
  // true for descending, as elsewhere, is no place for nulls.
  template <class F, std::same_as<bool> D> check::after_error order_by(const F&, D) const {
    static_assert(sizeof(F) == 0, "query: order_by: the direction is said by the verb: order_by(key) or order_by_descending(key)");
    return {};
  }
  QUERY_DETAIL_NEEDS(order_by, 1, "the key is missing: order_by([](auto t) { return t.price; }). Rows that are their own keys: order()")
  QUERY_DETAIL_NEEDS(order_by_descending, 1, "the key is missing: order_by_descending([](auto t) { return t.price; }). Rows that are "
                                             "their own keys: order_descending()")
  QUERY_DETAIL_SORT_ARGUMENTS(order_by)
  QUERY_DETAIL_SORT_ARGUMENTS(order_by_descending)
  // Rows that are their own keys.
  auto order(nulls where = nulls::last, call_site at = call_site::here(), const char* label = "order") const {
    return start<check::order>(label, [](const auto& r) { return r; }, false, where, at);
  }
  auto order_descending(nulls where = nulls::last, call_site at = call_site::here()) const {
    return start<check::order_descending>("order_descending", [](const auto& r) { return r; }, true, where, at);
  }
  template <key_function Less> auto order(Less less, nulls where = nulls::last, call_site at = call_site::here()) const {
    return start<check::order>("order", [](const auto& r) { return r; }, false, where, at, std::move(less));
  }
  template <key_function Less> auto order_descending(Less less, nulls where = nulls::last, call_site at = call_site::here()) const {
    return start<check::order_descending>("order_descending", [](const auto& r) { return r; }, true, where, at, std::move(less));
  }
  auto reverse(call_site at = call_site::here()) const {
    return finish<T>(new_node<T>(detail::verb::reverse, "reverse", at, self()), self());
  }
  // The n largest by f: order_by_descending(f).take(n), which the planner turns into a top-k. Rows that are no records need no f.
  template <class N> auto top(N n, call_site at = call_site::here()) const {
    if constexpr (!check::top::whole<N>() || !check::top::own_key<T>()) return check::after_error{};
    else return top(n, [](const auto& r) { return r; }, at);
  }
  QUERY_DETAIL_NEEDS(top, 1, "the number of rows is missing, and then the key: top(10, [](auto t) { return t.price; })")
  QUERY_DETAIL_ONE_KEY(top, 2)
  template <class N, class F> auto top(N n, F f, call_site at = call_site::here()) const {
    if constexpr (!check::top::whole<N>()) return check::after_error{};
    else return start<check::top>("top", f, true, nulls::last, at).take(detail::row_count("top", n, at), at, "top");
  }
  template <class N, class F, key_function Less> auto top(N n, F f, Less less, call_site at = call_site::here()) const {
    if constexpr (!check::top::whole<N>()) return check::after_error{};
    else return start<check::top>("top", f, true, nulls::last, at, std::move(less)).take(detail::row_count("top", n, at), at, "top");
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  template <class Check, class F, class... Less> static constexpr bool sorts() {
    if constexpr (sizeof...(Less) == 0) return Check::template sort_key<F, T>();
    else return Check::template custom_order<F, T, Less...>();
  }
  template <class Check, class F, class... Less>
  auto start(const char* label, const F& f, bool descending, nulls where, call_site at, Less... less) const {
    if constexpr (!sorts<Check, F, Less...>()) {
      return check::after_error{};
    } else {
      auto n = new_node<T>(detail::verb::order_by, label, at, self());
      if constexpr (std::is_same_v<Check, check::top>) name_part(*n, "order_by_descending");
      add_order<T>(*n, f, {.descending = descending, .nulls_first = where == nulls::first}, std::move(less)...);
      auto s = detail::with_captured(self().run_settings(), *n);
      return Ordered<T>(std::move(n), std::move(s));
    }
  }
};

}  // namespace verbs
}  // namespace query
