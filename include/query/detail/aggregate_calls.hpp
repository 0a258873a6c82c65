// An aggregate expression as batch calls over arrays of states: what the library's group tables work with.
#pragma once

#include <memory>
#include <new>

#include <query/detail/aggregate_kinds.hpp>
#include <query/detail/discard.hpp>
#include <query/detail/plan.hpp>
#include <query/detail/stop.hpp>

namespace query::agg {

template <class A, class K, class T>
using value_of = detail::stored_t<decltype(std::declval<const A&>().template value<T>(std::declval<const K&>(),
                                                                                      std::declval<typename A::template state<T>&>()))>;

// A row at a time as a view of its fields, which costs no copy of those that nobody reads.
template <class A, class T>
void update_fields(const void* self, void* states, const std::uint32_t* groups, const detail::field_column* fields, std::size_t n) {
  const A& a = *static_cast<const A*>(self);
  auto* s = static_cast<typename A::template state<T>*>(states);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const detail::field_column columns[] = {fields[I]...};  // a copy whose address nobody has stays in registers
    detail::in_runs(0, n, [&](std::size_t i, std::size_t end) QUERY_INLINE {
      for (; i < end; ++i) a.step(s[groups ? groups[i] : 0], row_view<T>{columns[I].template at<field_t<T, I>>(i)...});
    });
  }(field_indices<T>{});
}

// What is done with states of one type whatever the aggregate.
template <class S> struct state_calls {
  static void init(const void*, void* states, std::size_t n) { std::uninitialized_value_construct_n(static_cast<S*>(states), n); }
  static void destroy(void* states, std::size_t n) { std::destroy_n(static_cast<S*>(states), n); }
  static void relocate(void* to, void* from, std::size_t n) {
    std::uninitialized_move_n(static_cast<S*>(from), n, static_cast<S*>(to));  // where a row cannot be copied, all states stay
    std::destroy_n(static_cast<S*>(from), n);
  }
};

// The calls by name, not lambdas: those compile to two functions each.
template <class A, class K, class T> struct aggregate_loops {
  using S = typename A::template state<T>;

  static void update(const void* self, void* states, const std::uint32_t* groups, const void* rows, const std::uint32_t* select,
                     std::size_t n) {
    const A& a = *static_cast<const A*>(self);
    S* s = static_cast<S*>(states);
    const T* r = static_cast<const T*>(rows);
    detail::in_runs(0, n, [&](std::size_t i, std::size_t end) QUERY_INLINE {
      if (!groups) {
        for (; i < end; ++i) a.step(*s, r[i]);
      } else if (select) {
        for (; i < end; ++i) a.step(s[groups[i]], r[select[i]]);
      } else {
        for (; i < end; ++i) a.step(s[groups[i]], r[i]);
      }
    });
  }
  static void merge(const void*, void* into, const std::uint32_t* groups, void* from, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) A::merge(static_cast<S*>(into)[groups ? groups[i] : 0], static_cast<S*>(from)[i]);
  }
  static void finish(const void* self, const void* keys, void* states, std::size_t n, void* out) {
    const A& a = *static_cast<const A*>(self);
    using Out = value_of<A, K, T>;
    auto* const to = static_cast<Out*>(out);
    std::size_t i = 0;
    try {
      for (; i < n; ++i)
        ::new (static_cast<void*>(to + i))
            Out(detail::as_stored<Out>(a.template value<T>(static_cast<const K*>(keys)[i], static_cast<S*>(states)[i])));
    } catch (...) {
      detail::destroy_or_discard(to, i);
      throw;
    }
  }
};
// Record: F -> A, called at every execution, so that captures by reference are read anew.
template <class A, class F, A (*Record)(const F&)> std::shared_ptr<const void> recorded_again(const void* f) {
  return detail::keep<A>(Record(*static_cast<const F*>(f)));
}
template <class A, class K, class T, class F, A (*Record)(const F&)> detail::aggregate_calls calls_of() {
  using S = typename A::template state<T>;
  using loops = aggregate_loops<A, K, T>;
  detail::aggregate_calls c;
  c.state_size = sizeof(S);
  c.state_owns = !std::is_trivially_destructible_v<S>;
  c.state_align = alignof(S);
  c.record = &recorded_again<A, F, Record>;
  c.init = &state_calls<S>::init;
  c.destroy = &state_calls<S>::destroy;
  c.relocate = &state_calls<S>::relocate;
  c.update = &loops::update;
  if constexpr (A::own_state) {
    if constexpr (A::template by_field<T>) c.update_fields = &update_fields<A, T>;
  }
  c.merge = &loops::merge;
  c.finish = &loops::finish;
  return c;
}

template <class A, class K, class T, class KF>
std::size_t update_known(const void* self, const void* key, const detail::known_keys& known_now, void* states, const void* rows,
                         std::size_t n, void* missed) {
  const A& a = *static_cast<const A*>(self);
  const KF& f = *static_cast<const KF*>(key);
  const detail::known_keys known = known_now;  // a copy whose address nobody has stays in registers
  auto* s = static_cast<typename A::template state<T>*>(states);
  const T* r = static_cast<const T*>(rows);
  const detail::stop_point stop;
  for (std::size_t i = 0; i < n;) {
    for (const std::size_t end = n - i < detail::calls_a_look ? n : i + detail::calls_a_look; i < end; ++i) {
      const K k = detail::as_stored<K>(call(f, detail::seen_by<KF>(r[i])));
      const std::uint32_t id = known.find<K>(k);
      if (id == detail::known_keys::absent) {
        *static_cast<K*>(missed) = k;
        return i;
      }
      a.step(s[id], r[i]);
    }
    stop.check();
  }
  return n;
}

}  // namespace query::agg
