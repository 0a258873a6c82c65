// Functions of runs of adjacent rows in both forms: those of chunk and window.
#pragma once

#include <vector>

#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu::verify {

// Throws a difference where the expression gives something else than the native call for a run of these rows, the first ones of the
// verb's input. read: the fields that hold what the source has (difference.hpp).
void check_run_function(const detail::logical& n, const rows_buffer& rows, const std::vector<bool>& read, runtime::buffer_pool& pool);

}  // namespace query::cpu::verify
