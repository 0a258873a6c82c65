// Files as sources: parsed in parallel, only the fields that the query uses; into one table, or block by block for readers that may
// stop early.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cpu_engine/row_pieces.hpp"
#include "data/file_source.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

detail::table read_file(const planner::vertex& v, runtime::run_context& context);
// The bytes of a table of all rows at most, as the file describes them; nothing: nobody knows, or it has room for certain.
std::optional<std::uint64_t> most_table_bytes_of_file(const planner::vertex& v, const runtime::run_context& context);
std::unique_ptr<row_pieces> stream_of_file(const planner::vertex& v, runtime::run_context& context);

// For partitions that read parts of one file: how this process finds it, and the quotes within some of its bytes.
data::file_state state_of_file(const planner::vertex& v);
data::quotes_seen quotes_in_file(const planner::vertex& v, std::uint64_t begin, std::uint64_t end, runtime::run_context& context);

}  // namespace query::cpu
