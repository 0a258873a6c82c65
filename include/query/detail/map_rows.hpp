// The work of to_map: a key and a value of each row, put together to a map_of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <query/detail/visit_rows.hpp>
#include <query/lookup.hpp>

namespace query::detail {

// `keys`: nothing, or the user's own equality and hash.
template <class Query, class F, class V, class... Keys>
auto map_rows(const Query& q, const F& key, const V& value, call_site at, Keys... keys) {
  using T = typename Query::row;
  using K = result_of<F, T>;
  using E = result_of<V, T>;
  const settings& s = q.run_settings();
  const reading_verb verb{"to_map", at};
  run_limits limits(s, verb.name, at);
  map_of<K, E> m;
  const auto left = m.discarded_if_stopped();
  const auto reserve = [&](std::uint64_t n) { m.reserve(static_cast<std::size_t>(n)); };
  const auto add_all = [&] {
    const auto add = [&](const T& r) {
      m.insert(K(as_stored<K>(call(key, seen_by<F>(r)))), E(as_stored<E>(call(value, seen_by<V>(r)))));
    };
    visit_rows<T>(q.to_pipe(), s, verb, add, reserve);
  };
  if constexpr (wrapper<F>::generic && wrapper<V>::generic) {
    // Sessions that check run the functions that may trap as those of a select.
    if (checks_functions(s)) {
      const auto entries = q.select(key_and_value{key, value}, at, verb.name);
      using entry = typename decltype(entries)::row;
      visit_rows<entry>(entries.to_pipe(), s, verb, [&](const entry& e) { m.insert(e.first, e.second); }, reserve);
    } else {
      add_all();
    }
  } else {
    add_all();
  }
  limits.take_over();
  m.seal(verb.name, std::move(keys)..., at);
  limits.finished();
  return m;
}

}  // namespace query::detail
