// Which rows that a stopped query leaves behind are for the thread of query/detail/discard.hpp, by their run-time type.
#pragma once

#include <algorithm>
#include <cstddef>

#include <query/detail/discard.hpp>
#include <query/detail/type.hpp>

namespace query::runtime {

// Rows of kinds that the library looks into own memory, no more.
inline bool owns_memory_only(const ir::type& t) {
  if (t.trivial) return true;
  if (t.k == ir::kind::opaque) return false;
  if (t.k == ir::kind::record)
    return !t.field_list.empty() &&
           std::all_of(t.field_list.begin(), t.field_list.end(), [](const ir::field& f) { return owns_memory_only(*f.of); });
  return !t.element || owns_memory_only(*t.element);
}

inline bool holds_lists(const ir::type& t) {
  if (t.trivial) return false;
  if (t.k == ir::kind::list) return true;
  if (t.k == ir::kind::record)
    return std::any_of(t.field_list.begin(), t.field_list.end(), [](const ir::field& f) { return holds_lists(*f.of); });
  return t.element && holds_lists(*t.element);
}

// So many that nobody should wait for their destructors; a list may hold all of them.
inline bool slow_to_destroy(const ir::type& t, std::size_t n) {
  return !t.trivial && n > (holds_lists(t) ? 0 : detail::discarded_rows) && owns_memory_only(t);
}

}  // namespace query::runtime
