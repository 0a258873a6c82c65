// A function of groups in both forms: aggregates and their finishing expression over the groups of a sample of rows.
#pragma once

#include <vector>

#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu::verify {

// `rows`: what a group_by or an aggregate groups; read: their fields that hold what the source has (difference.hpp). Throws a difference
// that shows the group and, where one row alone gives two results, that row.
void check_group_function(const detail::logical& n, const rows_buffer& rows, const std::vector<bool>& read, runtime::buffer_pool& pool);

}  // namespace query::cpu::verify
