// What a stopped query leaves behind. To destroy millions of strings takes longer than its user wants to wait, so a thread of the
// library's does it: of rows that the library looks into (records, tuples, strings and the like), whose destructors give memory back.
//
//   std::vector<T> out;
//   const discarded_if_stopped left(out);   // while an exception leaves this block
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/type.hpp>

namespace query::detail {

// Fewer are destroyed where they are, as a table has many partitions, unless they hold lists.
inline constexpr std::size_t discarded_rows = 64;

// Types that own memory and are seen by nobody when they go: those that the library looks into, and what it makes of them.
template <class T> constexpr bool owns_memory() {
  if constexpr (std::is_trivially_destructible_v<T>) return false;
  else if constexpr (requires { typename T::query_part_types; }) return ir::described_v<typename T::query_part_types>;
  else if constexpr (ir::is_tuple_v<T>)  // states of several aggregates, some of which are nothing
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return ((std::is_trivially_destructible_v<std::tuple_element_t<I, T>> || owns_memory<std::tuple_element_t<I, T>>()) && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  else return ir::described_v<T>;
}
template <class T> inline constexpr bool owns_memory_v = owns_memory<T>();

// A single row may hold millions of others.
template <class T> constexpr bool holds_lists() {
  if constexpr (ir::is_list_v<T>) return true;
  else if constexpr (requires { typename T::query_part_types; }) return true;  // a group
  else if constexpr (record<T>) return holds_lists<typename meta<T>::types>();
  else if constexpr (ir::is_tuple_v<T>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (holds_lists<std::tuple_element_t<I, T>>() || ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  else if constexpr (ir::is_array_v<T>) return holds_lists<typename ir::array_traits<T>::element>();
  else if constexpr (ir::is_optional_v<T>) return holds_lists<typename T::value_type>();
  else return false;
}

// Destroys it soon, in another thread, if this was the last of its owners.
void discard(std::shared_ptr<void> rows) noexcept;
// Waits until all of that is gone.
void wait_for_discarded();

// Rows that have come alive in raw memory, of a query that stops.
template <class T> void destroy_or_discard(T* rows, std::size_t n) noexcept {
  if constexpr (owns_memory_v<T> && holds_lists<T>()) {
    try {
      if (n) discard(std::make_shared<std::vector<T>>(std::make_move_iterator(rows), std::make_move_iterator(rows + n)));
    } catch (const std::bad_alloc&) {  // then they are destroyed here
    }
  }
  std::destroy_n(rows, n);
}

template <class C, class T = typename C::value_type> class discarded_if_stopped {
 public:
  explicit discarded_if_stopped(C& rows) : rows_(&rows) {}
  ~discarded_if_stopped() {
    if constexpr (owns_memory_v<T>)
      if (std::uncaught_exceptions() > before_ && rows_->size() > (holds_lists<T>() ? 0 : discarded_rows)) {
        try {
          discard(std::make_shared<C>(std::move(*rows_)));
        } catch (const std::bad_alloc&) {  // then they are destroyed here
        }
      }
  }
  discarded_if_stopped(const discarded_if_stopped&) = delete;
  discarded_if_stopped& operator=(const discarded_if_stopped&) = delete;

 private:
  C* rows_;
  int before_ = std::uncaught_exceptions();
};

}  // namespace query::detail
