// Copies of lists that may hold all rows of a query: they look at its limits while they are made.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <query/detail/discard.hpp>
#include <query/detail/stop.hpp>

namespace query::detail {

// List: a std::vector of E.
template <class List, class E> List copied_list(std::span<const E> rows) {
  if (rows.size() <= quick_calls_a_look) return List(rows.begin(), rows.end());
  List list;
  const discarded_if_stopped left(list);
  list.reserve(rows.size());
  in_runs<quick_calls_a_look>(0, rows.size(), [&](std::size_t i, std::size_t end) {
    const std::span<const E> run = rows.subspan(i, end - i);
    list.insert(list.end(), run.begin(), run.end());
  });
  return list;
}

}  // namespace query::detail
