// Rows of files of columns (data/columnar_file.hpp). Only columns that somebody reads are read, and of groups whose statistics say that
// no row passes the tests of all readers, none.
//
// Some groups at a time: tasks read their columns, one each, and others make rows of them, a block at a time, however many rows a group
// has. A partition of several has the groups that begin within its part of the files' bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "cpu_engine/file_rows.hpp"

namespace query::cpu {

// The bytes of a table of all their rows, about.
std::uint64_t most_table_bytes_of_columns(const planner::vertex& v, const std::deque<file_to_read>& files);

std::unique_ptr<file_rows> columnar_rows_of(const planner::vertex& v, std::deque<file_to_read> files, runtime::run_context& context);

}  // namespace query::cpu
