// Of an exchange by hash, the rows with heavy keys (runtime/heavy_keys.hpp): how such keys are found, and where their rows go.
//
//   rows_by_hash(exchange, rows, 4, context);               // for each of four receivers, in all
//   sample_hashes(exchange, rows, 1'024, context);          // of the keys of some rows: equal ones are of equal keys, as a rule
//   receivers_of(exchange, piece, first, ends, keys, context)   // for each receiver: the rows of the piece that it gets
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/machine_graph.hpp"
#include "runtime/heavy_keys.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// The exchange has run: its rows lie by the hash of their key.
std::vector<std::uint64_t> rows_by_hash(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t receivers,
                                        runtime::run_context& context);
std::vector<std::uint64_t> sample_hashes(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t wanted,
                                         runtime::run_context& context);

// The piece begins at row `first` of rows that lie by hash and end there for each receiver. In their order.
std::vector<std::vector<std::uint64_t>> receivers_of(const planner::vertex& v, const detail::table& piece, std::size_t first,
                                                     const std::vector<std::size_t>& ends, const runtime::heavy_keys& keys,
                                                     runtime::run_context& context);

}  // namespace query::cpu
