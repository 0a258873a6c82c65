// An aggregate of the user's own: g.aggregate(seed, update, combine, finish).
//
//   custom<S, U, C, F>{{}, seed, update, combine, finish}.step(state, row)
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <query/detail/aggregate_kinds.hpp>

namespace query::agg {

// seed; update(state, row) -> state; combine(state, state) -> state; finish(state) -> value.
template <class Seed, class Update, class Combine, class Finish> struct custom : expression {
  static constexpr const char* name = "aggregate";
  Seed seed;
  Update update;
  Combine combine;
  Finish finish;
  using kept = detail::stored_t<Seed>;  // a state that is a view would outlive the rows that it looks at
  struct held {
    std::optional<kept> s;  // empty until the first row: the seed is the identity of combine
    const Combine* combine = nullptr;
  };
  static decltype(auto) state_of(kept& s) {
    if constexpr (std::is_same_v<kept, Seed>) return std::move(s);
    else if constexpr (std::is_pointer_v<Seed>) return static_cast<Seed>(s.data());
    else return Seed(s);
  }
  template <class X> static void keep(kept& s, X&& x) {
    if constexpr (std::is_same_v<kept, Seed>) s = std::forward<X>(x);
    else s = kept(detail::as_stored<kept>(std::forward<X>(x)));
  }
  template <class T> using state = held;
  static constexpr bool own_state = true;
  template <class T> static constexpr bool by_field = [] {
    if constexpr (!record<T> || detail::names_its_types<Update>) return false;
    else if constexpr (std::is_trivially_copyable_v<T>) return false;
    else return std::is_invocable_v<const Update&, decltype(state_of(std::declval<kept&>())), const row_view<T>&>;
  }();
  template <class T> void step(held& s, const T& t) const {
    if (!s.s) {
      s.s.emplace(detail::as_stored<kept>(seed));
      s.combine = &combine;
    }
    keep(*s.s, update(state_of(*s.s), t));
  }
  static void merge(held& a, held& b) {
    if (!b.s) return;
    if (!a.s) a = std::move(b);
    else keep(*a.s, (*b.combine)(state_of(*a.s), state_of(*b.s)));
  }
  template <class T, class K> auto value(const K&, held& s) const {
    using R = detail::stored_t<std::invoke_result_t<const Finish&, Seed>>;
    Seed last = s.s ? Seed(state_of(*s.s)) : seed;
    return R(detail::as_stored<R>(finish(std::move(last))));
  }
};

}  // namespace query::agg
