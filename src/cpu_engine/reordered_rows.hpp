// Rows of a table that nobody else reads, in a new order: they move where their type can.
//
//   detail::table sorted = reordered_rows(std::move(rows), order, pool);      // row i is rows[order[i]]
#pragma once

#include <query/detail/plan.hpp>

#include "cpu_engine/permutation.hpp"

namespace query::cpu {

detail::table reordered_rows(detail::table rows, const permutation& order, runtime::buffer_pool& pool);

}  // namespace query::cpu
