// query::collection<T>: rows that a lambda captures by value and looks through: centres, rates, a dimension table.
//
//   auto centres = query::broadcast(std::vector<Centre>{...});
//   points.select([centres](auto p) {
//     return query::make<Assigned>(p.id, centres.arg_min(p, [](auto p, auto c) { return query::squared_distance(p.x, c.x); }));
//   });
//
// broadcast(query) (query.hpp) captures the rows of a lazy query, bound anew at each execution. The handle is a pointer:
// copies share the rows, which never change. Functions take the row first, `f(row, element)`, or only the element. Give
// the row where f compares it with elements: a lambda that captured a traced row meets plain elements while it is traced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <query/detail/binding.hpp>
#include <query/detail/check.hpp>
#include <query/detail/nested.hpp>
#include <query/detail/stop.hpp>

namespace query {

template <class T> class collection {
 public:
  using value_type = T;

  collection() = default;
  explicit collection(std::shared_ptr<const detail::capture> c) : capture_(std::move(c)) {}
  // Copying, and use in a trace, tell a capture_recorder on this thread, so that the library finds what a function captured.
  collection(const collection& o) : capture_(o.capture_) { detail::note_capture(capture_); }
  collection(collection&&) noexcept = default;
  collection& operator=(const collection&) = default;
  collection& operator=(collection&&) noexcept = default;
  ~collection() = default;

  const std::shared_ptr<const detail::capture>& handle() const { return capture_; }

  // Plain access. In a traced function it is a constant of the trace, possible where the rows are there already (not those
  // of a lazy query).
  std::size_t size() const { return rows().size(); }
  bool empty() const { return size() == 0; }
  // Throws user_error where there is no such element.
  const T& operator[](std::size_t i) const {
    const std::span<const T> r = rows();
    if (i >= r.size()) detail::outside_collection(i, r.size());
    return r[i];
  }
  const T* begin() const { return unrolled().data(); }
  const T* end() const { return begin() + rows().size(); }
  // The element at a position that depends on the row.
  template <detail::symbolic I> auto operator[](const I& i) const {
    return detail::make_twin<T>(
        ir::current_arena().put(ir::op::nested, ir::describe<T>(), {node(), detail::node_as<std::int64_t>(i)}, 0, 0, "at"));
  }

  // The first element, such as the value of broadcast(value_of(q).sum(f)), in a function of `row`.
  template <class Row> auto value(const Row&) const {
    if constexpr (detail::is_twin_v<Row>)
      return detail::make_twin<T>(
          ir::current_arena().put(ir::op::nested, ir::describe<T>(), {node(), detail::node_as<std::int64_t>(std::int64_t{0})}, 0, 0, "at"));
    else return T((*this)[0]);
  }

  // Position of the element with the smallest or largest value; the first of equals, -1 if there are no elements.
  template <class Row, class F> auto arg_min(const Row& row, const F& f) const { return arg<Row>("arg_min", over(row, f), false); }
  template <class Row, class F> auto arg_max(const Row& row, const F& f) const { return arg<Row>("arg_max", over(row, f), true); }
  template <class F> auto arg_min(const F& f) const { return arg<seen_by<F>>("arg_min", f, false); }
  template <class F> auto arg_max(const F& f) const { return arg<seen_by<F>>("arg_max", f, true); }

  // The smallest or largest value itself. Throws user_error if there are no elements.
  template <class Row, class F> auto min(const Row& row, const F& f) const { return extreme<Row>("min", over(row, f), false); }
  template <class Row, class F> auto max(const Row& row, const F& f) const { return extreme<Row>("max", over(row, f), true); }
  template <class F> auto min(const F& f) const { return extreme<seen_by<F>>("min", f, false); }
  template <class F> auto max(const F& f) const { return extreme<seen_by<F>>("max", f, true); }

  // The sum of the values; integers add up in 64 bits.
  template <class Row, class F> auto sum(const Row& row, const F& f) const { return total<Row>(over(row, f)); }
  template <class F> auto sum(const F& f) const { return total<seen_by<F>>(f); }

  // Does f hold for one element, for all, for how many (std::int64_t, as count() of a query)?
  template <class Row, class F> bool any(const Row& row, const F& f) const { return ask<Row>("any", over(row, f), true); }
  template <class Row, class F> bool all(const Row& row, const F& f) const { return ask<Row>("all", over(row, f), false); }
  template <class F> bool any(const F& f) const { return ask<T>("any", f, true); }
  template <class F> bool all(const F& f) const { return ask<T>("all", f, false); }
  template <class Row, class F> auto count(const Row& row, const F& f) const {
    if constexpr (detail::is_twin_v<Row>) {
      return detail::wrap<std::int64_t>(detail::nested_node<std::int64_t, bool, T>("count", node(), over(row, f)));
    } else {
      std::int64_t n = 0;
      walk(rows(), 0, [&](std::size_t, const T& e) QUERY_INLINE { return n += f(row, e) ? 1 : 0, true; });
      return n;
    }
  }
  template <class F> std::int64_t count(const F& f) const {
    std::int64_t n = 0;
    walk(rows(), 0, [&](std::size_t, const T& e) QUERY_INLINE { return n += f(e) ? 1 : 0, true; });
    return n;
  }
  // Is x among the elements?
  template <class X> bool contains(const X& x) const {
    return any(x, [](const auto& wanted, const auto& e) { return e == wanted; });
  }

  // Without a function: an element has no value of its own here, as in a query of numbers.
#define QUERY_DETAIL_BROADCAST_NEEDS(type, verb, what)                                                                                    \
  template <class D = void> type verb() const {                                                                                           \
    static_assert(detail::never<D>, "query: broadcast: " #verb ": the function is missing: " what);                                       \
    return {};                                                                                                                            \
  }
#define QUERY_DETAIL_OF_ELEMENTS(verb)                                                                                                    \
  #verb "([](auto e) { return e; }) of numbers, " #verb "([](auto e) { return e.price; }) of a field"
  QUERY_DETAIL_BROADCAST_NEEDS(int, sum, QUERY_DETAIL_OF_ELEMENTS(sum))
  QUERY_DETAIL_BROADCAST_NEEDS(int, min, QUERY_DETAIL_OF_ELEMENTS(min))
  QUERY_DETAIL_BROADCAST_NEEDS(int, max, QUERY_DETAIL_OF_ELEMENTS(max))
  QUERY_DETAIL_BROADCAST_NEEDS(int, arg_min, QUERY_DETAIL_OF_ELEMENTS(arg_min))
  QUERY_DETAIL_BROADCAST_NEEDS(int, arg_max, QUERY_DETAIL_OF_ELEMENTS(arg_max))
  QUERY_DETAIL_BROADCAST_NEEDS(std::int64_t, count, "count([](auto e) { return e > 0; }). How many elements there are: size()")
  QUERY_DETAIL_BROADCAST_NEEDS(bool, any, "any([](auto e) { return e > 0; }). Whether there are elements: !empty()")
  QUERY_DETAIL_BROADCAST_NEEDS(bool, all, "all([](auto e) { return e > 0; })")
#undef QUERY_DETAIL_OF_ELEMENTS
#undef QUERY_DETAIL_BROADCAST_NEEDS

  // f(row, ...f(row, init, first)..., last), or without the row; the type is that of f(init, element).
  template <class Row, class Init, class F> auto fold(const Row& row, const Init& init, const F& f) const {
    return folded<Row>(init, [&](const auto& state, const auto& e) { return f(row, state, e); });
  }
  template <class Init, class F> auto fold(const Init& init, const F& f) const {
    return folded<std::invoke_result_t<const F&, const Init&, const T&>>(init, f);
  }

 private:
  // visit(i, element) from element i on, until it gives false; says whether it never did. One row may look through millions: the
  // search stops with its query. A few elements end sooner than a look pays.
  template <class Visit> QUERY_INLINE static bool walk(std::span<const T> r, std::size_t i, Visit visit) {
    constexpr std::size_t few = 8;
    while (i < r.size()) {
      for (const std::size_t end = r.size() - i < detail::calls_a_look ? r.size() : i + detail::calls_a_look; i < end; ++i)
        if (!visit(i, r[i])) return false;
      if (r.size() > few) detail::stop_point().check();
    }
    return true;
  }
  template <class F> using seen_by = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;
  template <class Row, class F> static auto over(const Row& row, const F& f) {
    return [&row, &f](const auto& e) { return f(row, e); };
  }
  std::span<const T> rows() const {
    if (!capture_) return {};
    if (ir::tracing() && !capture_->owner) detail::unknown_while_tracing();
    const detail::bound b = detail::lookup(*capture_);
    return {static_cast<const T*>(b.data), b.size};
  }
  std::span<const T> unrolled() const {
    const std::span<const T> r = rows();
    if (ir::tracing() && r.size() > 64) detail::unrolled_too_far();
    return r;
  }
  const ir::node* node() const {
    if (!ir::described_v<T>) ir::give_up("a captured collection whose elements have no QUERY_RECORD");
    if (!capture_) ir::give_up("an empty handle of a captured collection");
    detail::note_capture(capture_);  // a handle that the function holds by reference
    return ir::current_arena().put(ir::op::collection, ir::describe<T>(), {}, capture_->slot);
  }

  // Row: what decides whether this is traced.
  template <class Row, class F> auto arg(const char* verb, const F& f, bool largest) const {
    if constexpr (detail::is_twin_v<Row>) {
      using V = detail::held_t<std::invoke_result_t<const F&, const detail::twin_t<T>&>>;
      return detail::wrap<int>(detail::nested_node<int, V, T>(verb, node(), f));
    } else {
      const std::span<const T> r = rows();
      if (r.empty()) return -1;
      int best = 0;
      auto extreme = f(r[0]);
      walk(r, 1, [&](std::size_t i, const T& e) QUERY_INLINE {
        if (auto v = f(e); largest ? extreme < v : v < extreme) {
          extreme = v;
          best = static_cast<int>(i);
        }
        return true;
      });
      return best;
    }
  }
  template <class Row, class F> auto extreme(const char* verb, const F& f, bool largest) const {
    if constexpr (detail::is_twin_v<Row>) {
      using V = detail::held_t<std::invoke_result_t<const F&, const detail::twin_t<T>&>>;
      return detail::wrap<V>(detail::nested_node<V, V, T>(verb, node(), f));
    } else {
      const std::span<const T> r = rows();
      if (r.empty()) detail::empty_extreme(verb);
      auto best = f(r[0]);
      walk(r, 1, [&](std::size_t, const T& e) QUERY_INLINE {
        if (auto v = f(e); largest ? best < v : v < best) best = v;
        return true;
      });
      return best;
    }
  }
  template <class Row, class F> auto total(const F& f) const {
    if constexpr (detail::is_twin_v<Row>) {
      using S = detail::sum_t<detail::held_t<std::invoke_result_t<const F&, const detail::twin_t<T>&>>>;
      return detail::wrap<S>(detail::nested_node<S, S, T>("sum", node(), f));
    } else {
      using S = detail::sum_t<std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>;
      S s{};
      walk(rows(), 0, [&](std::size_t, const T& e) QUERY_INLINE { return s += static_cast<S>(f(e)), true; });
      return s;
    }
  }
  template <class Row, class F> bool ask(const char* verb, const F& f, bool until) const {
    if constexpr (detail::is_twin_v<Row>) {
      return ir::decide(detail::nested_node<bool, bool, T>(verb, node(), f));
    } else {
      return walk(rows(), 0, [&](std::size_t, const T& e) QUERY_INLINE { return static_cast<bool>(f(e)) != until; }) ? !until : until;
    }
  }
  template <class Row, class Init, class F> auto folded(const Init& init, const F& f) const {
    constexpr bool traced = detail::any_twin<Row, Init>;
    if constexpr (traced) {
      using S = detail::held_t<std::invoke_result_t<const F&, const detail::twin_t<detail::held_t<Init>>&, const detail::twin_t<T>&>>;
      return detail::nested_fold<S, T>(node(), init, f);
    } else {
      using S = std::remove_cvref_t<std::invoke_result_t<const F&, const Init&, const T&>>;
      static_assert(detail::storable<Init, S>(), "query::fold(list, init, f): f gives another type than init has");
      S state = detail::value_of_type<S>(init);
      walk(rows(), 0, [&](std::size_t, const T& e) QUERY_INLINE { return state = detail::value_of_type<S>(f(state, e)), true; });
      return state;
    }
  }

  std::shared_ptr<const detail::capture> capture_;
};

namespace detail {
// A query is a range, too, whose rows are captured anew at each execution; rows of std::vector<bool> do not lie side by side.
template <class R>
concept other_range = !requires(const R& r) { r.to_pipe(); } && !requires(const R& r) { r.handle(); } &&
                      requires(const R& r, std::remove_cvref_t<decltype(r.begin())> i) {
                        ++i;
                        i != r.end();
                        requires !std::is_same_v<std::remove_cvref_t<decltype(*i)>, bool>;
                      };
}  // namespace detail

// Keeps the rows, copied unless they are moved in. O(length) once; the handle is cheap to copy.
template <class T> requires(!std::is_same_v<T, bool>) collection<T> broadcast(std::vector<T>&& rows) {
  if constexpr (!check::broadcast::copied<T>()) return {};
  else {
    auto kept = std::make_shared<const std::vector<T>>(std::move(rows));
    const void* data = kept->data();
    const std::size_t n = kept->size();
    return collection<T>(detail::make_capture(ir::describe<T>(), std::move(kept), data, n));
  }
}
template <class T> requires(!std::is_same_v<T, bool>) collection<T> broadcast(const std::vector<T>& rows) {
  if constexpr (!check::broadcast::copied<T>()) return {};
  else return broadcast(std::vector<T>(rows));
}
template <class T> collection<std::remove_cv_t<T>> broadcast(std::span<T> rows) {
  if constexpr (!check::broadcast::copied<std::remove_cv_t<T>>()) return {};
  else return broadcast(std::vector<std::remove_cv_t<T>>(rows.begin(), rows.end()));
}

// Any other range, in its order: std::set, std::list, a view.
template <class R> requires(detail::other_range<R>) auto broadcast(const R& range) {
  using T = std::remove_cvref_t<decltype(*range.begin())>;
  if constexpr (!check::broadcast::copied<T>()) return collection<T>();
  else {
    std::vector<T> rows;
    for (auto&& e : range) rows.push_back(e);
    return broadcast(std::move(rows));
  }
}

}  // namespace query
