// Rows that may have lists, of which one may hold all rows of a query: these are copied and destroyed with looks at its limits.
//
//   copy_rows_with_lists(*t, to, from, n);   // of a type that is not trivial
#pragma once

#include <cstddef>

#include <query/detail/type.hpp>

namespace query::runtime {

// Into raw memory: all rows come alive, or none if the query stops.
void copy_rows_with_lists(const ir::type& t, void* to, const void* from, std::size_t n);
// Over a living value. If the query stops, `to` has part of it.
void assign_with_lists(const ir::type& t, void* to, const void* from);
// Throws nothing: once the query should stop, what is left goes to the thread of query/detail/discard.hpp.
void destroy_rows_with_lists(const ir::type& t, void* at, std::size_t n) noexcept;

}  // namespace query::runtime
