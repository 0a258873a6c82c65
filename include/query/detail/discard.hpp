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

#include <query/detail/type.hpp>

namespace query::detail {

inline constexpr std::size_t discarded_rows = 64;  // fewer are destroyed where they are; a table has many partitions

// Types that own memory and are seen by nobody when they go: those that the library looks into, and what it makes of them.
template <class T> constexpr bool owns_memory() {
  if constexpr (std::is_trivially_destructible_v<T>) return false;
  else if constexpr (requires { typename T::query_part_types; }) return ir::described_v<typename T::query_part_types>;
  else return ir::described_v<T>;
}
template <class T> inline constexpr bool owns_memory_v = owns_memory<T>();

// Destroys it soon, in another thread, if this was the last of its owners.
void discard(std::shared_ptr<void> rows) noexcept;
// Waits until all of that is gone.
void wait_for_discarded();

template <class C, class T = typename C::value_type> class discarded_if_stopped {
 public:
  explicit discarded_if_stopped(C& rows) : rows_(&rows) {}
  ~discarded_if_stopped() {
    if constexpr (owns_memory_v<T>)
      if (std::uncaught_exceptions() > before_ && rows_->size() > discarded_rows) {
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
