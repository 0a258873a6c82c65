// The row-wise verbs as one compile-time chain: rows -> where -> select -> ... Each link offers two loops:
//   scan(view, i, j, sink)   pushes the rows that survive, with branches; always valid
//   each(view, i, sink)      pushes (row, position, alive) without a branch, so that it vectorises; only if the planner found
//                            that every function may run on rejected rows
// A view gives row i of a block: an array of rows or the columns of a record.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <query/detail/call.hpp>
#include <query/detail/list_copy.hpp>
#include <query/detail/plan.hpp>
#include <query/detail/stop.hpp>

namespace query::cpu {

using detail::call;
using detail::row_block;
using detail::seen_by;

template <class T> struct row_array {
  const T* p;
  std::size_t n;
  std::uint64_t first;
  explicit row_array(const row_block& b) : p(static_cast<const T*>(b.rows)), n(b.n), first(b.first) {}
  QUERY_INLINE const T& at(std::size_t i) const { return p[i]; }
};

template <record T> struct column_set {
  template <std::size_t... I> static auto pointers(std::index_sequence<I...>) -> std::tuple<const field_t<T, I>*...>;
  decltype(pointers(field_indices<T>{})) p;
  std::size_t n;
  std::uint64_t first;
  explicit column_set(const row_block& b) : n(b.n), first(b.first) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(p) = static_cast<const field_t<T, I>*>(b.columns[I])), ...);
    }(field_indices<T>{});
  }
  // By value where copies are free: loads of unused columns disappear.
  QUERY_INLINE auto at(std::size_t i) const {
    return std::apply(
        [i](auto*... c) QUERY_INLINE {
          if constexpr (std::is_trivially_copyable_v<T>) return T{c[i]...};
          else return row_view<T>{c[i]...};
        },
        p);
  }
};

// ---------------------------------------------------------------- links
template <class T> struct rows {
  using source = T;
  using row = T;
  using view = row_array<T>;
  static constexpr bool identity = true, maskable = true, filters = false, indexed = false, columnar = false;
  template <class V, class S> QUERY_INLINE void scan(const V& v, std::size_t i, std::size_t j, S&& s) const {
    for (; i < j; ++i) s(v.at(i), v.first + i);
  }
  template <class V, class S> QUERY_INLINE void each(const V& v, std::size_t i, S&& s) const { s(v.at(i), v.first + i, true); }
};
template <record T> struct columns : rows<T> {
  using view = column_set<T>;
  static constexpr bool identity = false, columnar = true;
};

template <class Up> struct link {
  using source = typename Up::source;
  using view = typename Up::view;
  static constexpr bool identity = false, columnar = Up::columnar;
  Up up;
};

template <class Up, class F> struct where : link<Up> {
  using row = typename Up::row;
  static constexpr bool maskable = Up::maskable, filters = true, indexed = Up::indexed;
  F f;
  where(Up u, F g) : link<Up>{std::move(u)}, f(std::move(g)) {}
  template <class V, class S> QUERY_INLINE void scan(const V& v, std::size_t i, std::size_t j, S&& s) const {
    const F& g = f;
    this->up.scan(v, i, j, [&](auto&& r, std::uint64_t at) QUERY_INLINE {
      if (call(g, seen_by<F>(r))) s(static_cast<decltype(r)>(r), at);
    });
  }
  template <class V, class S> QUERY_INLINE void each(const V& v, std::size_t i, S&& s) const {
    const F& g = f;
    this->up.each(v, i, [&](auto&& r, std::uint64_t at, bool alive) QUERY_INLINE {
      const bool keep = static_cast<bool>(call(g, seen_by<F>(r)));
      s(static_cast<decltype(r)>(r), at, alive & keep);
    });
  }
};

template <class Up, class F> struct select : link<Up> {
  using row = detail::result_of<F, typename Up::row>;
  static constexpr bool maskable = Up::maskable, filters = Up::filters, indexed = Up::indexed;
  F f;
  select(Up u, F g) : link<Up>{std::move(u)}, f(std::move(g)) {}
  template <class V, class S> QUERY_INLINE void scan(const V& v, std::size_t i, std::size_t j, S&& s) const {
    const F& g = f;
    this->up.scan(v, i, j, [&](auto&& r, std::uint64_t at) QUERY_INLINE { s(call(g, seen_by<F>(r)), at); });
  }
  template <class V, class S> QUERY_INLINE void each(const V& v, std::size_t i, S&& s) const {
    const F& g = f;
    this->up.each(v, i, [&](auto&& r, std::uint64_t at, bool alive) QUERY_INLINE { s(call(g, seen_by<F>(r)), at, alive); });
  }
};

// Functions of the row and its number.
template <class Up, class F> struct select_at : link<Up> {
  using row = detail::stored_t<std::invoke_result_t<const F&, const typename Up::row&, std::int64_t>>;
  static constexpr bool maskable = false, filters = Up::filters, indexed = true;
  F f;
  select_at(Up u, F g) : link<Up>{std::move(u)}, f(std::move(g)) {}
  template <class V, class S> QUERY_INLINE void scan(const V& v, std::size_t i, std::size_t j, S&& s) const {
    const F& g = f;
    this->up.scan(v, i, j, [&](auto&& r, std::uint64_t at) QUERY_INLINE {
      s(g(detail::as_stored<typename Up::row>(static_cast<decltype(r)>(r)), static_cast<std::int64_t>(at)), at);
    });
  }
};
template <class Up, class F> struct where_at : link<Up> {
  using row = typename Up::row;
  static constexpr bool maskable = false, filters = true, indexed = true;
  F f;
  where_at(Up u, F g) : link<Up>{std::move(u)}, f(std::move(g)) {}
  template <class V, class S> QUERY_INLINE void scan(const V& v, std::size_t i, std::size_t j, S&& s) const {
    const F& g = f;
    this->up.scan(v, i, j, [&](auto&& r, std::uint64_t at) QUERY_INLINE {
      if (g(detail::as_stored<row>(r), static_cast<std::int64_t>(at))) s(static_cast<decltype(r)>(r), at);
    });
  }
};

template <class Up, class F> struct select_many : link<Up> {
  using inner = std::remove_cvref_t<detail::given_by<F, typename Up::row>>;
  using row = detail::stored_t<decltype(*std::declval<inner&>().begin())>;
  static constexpr bool maskable = false, filters = true, indexed = Up::indexed;
  F f;
  select_many(Up u, F g) : link<Up>{std::move(u)}, f(std::move(g)) {}
  template <class V, class S> QUERY_INLINE void scan(const V& v, std::size_t i, std::size_t j, S&& s) const {
    const F& g = f;
    // A row's range may be long, or have no end.
    const detail::stop_point stop;
    std::size_t given = 0;
    this->up.scan(v, i, j, [&](auto&& r, std::uint64_t at) QUERY_INLINE {
      auto&& seen = seen_by<F>(r);
      auto&& range = call(g, seen);
      constexpr bool goes = std::is_same_v<decltype(call(g, seen)), inner> && ir::is_list_v<inner>;
      [[maybe_unused]] const std::conditional_t<goes, detail::let_go<inner>, detail::nothing_to_let_go> gone(range);
      for (auto&& x : range) {
        s(x, at);
        if (++given % detail::calls_a_look == 0) stop.check();
      }
    });
  }
};

}  // namespace query::cpu
