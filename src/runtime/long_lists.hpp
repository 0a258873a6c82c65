// Copies and destroys rows that may contain lists. One list may hold all rows of a query, so these functions check on the way whether
// the query should stop.
//
//   copy_rows_with_lists(*t, to, from, n);   // of a type that is not trivial
#pragma once

#include <cstddef>

#include <query/detail/type.hpp>

namespace query::runtime {

// To raw memory. Constructs all rows, or none if the query stops.
void copy_rows_with_lists(const ir::type& t, void* to, const void* from, std::size_t n);
// To an existing value. If the query stops, `to` holds a part of the new value.
void assign_with_lists(const ir::type& t, void* to, const void* from);
// Throws nothing. Once the query should stop, the rows that are left go to the thread of query/detail/discard.hpp.
void destroy_rows_with_lists(const ir::type& t, void* at, std::size_t n) noexcept;

}  // namespace query::runtime
