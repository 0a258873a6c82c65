// Lists that may hold all rows of a query, and rows with such lists: the query's limits are looked at while they are copied and while
// they go.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <utility>
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
// Of a list that goes: once the query should stop, nobody waits for the rest of its elements.
template <class List> class let_go {
 public:
  explicit let_go(List& list) : list_(&list) {}
  ~let_go() {
    if constexpr (owns_memory_v<typename List::value_type>) {
      while (list_->size() > quick_calls_a_look) {
        if (std::uncaught_exceptions() > 0 || stop_here->stopped_now.load(std::memory_order_relaxed)) {
          try {
            discard(std::make_shared<List>(std::move(*list_)));
          } catch (const std::bad_alloc&) {  // then they are destroyed here
          }
          return;
        }
        for (std::size_t i = 0; i < quick_calls_a_look; ++i) list_->pop_back();
      }
    }
  }
  let_go(const let_go&) = delete;
  let_go& operator=(const let_go&) = delete;

 private:
  List* list_;
};

struct nothing_to_let_go {
  explicit nothing_to_let_go(const auto&) {}
};

// The lists of pairs and tuples, too.
template <class T> T copied_row(const T& row) {
  if constexpr (ir::is_list_v<T>) {
    return copied_list<T>(std::span<const typename T::value_type>(row));
  } else if constexpr (ir::is_tuple_v<T> && holds_lists<T>()) {
    return std::apply([](const auto&... part) { return T(copied_row(part)...); }, row);
  } else {
    return row;
  }
}

}  // namespace query::detail
