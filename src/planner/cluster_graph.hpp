// The cluster graph: a machine graph whose vertices run in one partition or in all, with exchanges where rows have to change partition.
//
// Every partition runs the same machine graph over its own part of the sources: rows [p * n / parts, (p + 1) * n / parts) of a
// container in memory or of a range, and of a large file the records that begin within such a part of its bytes. So partitions, one
// after the other, give the rows of a source in order, and of everything that keeps their order.
//
// - Verbs that look at rows one by one run where their rows are, and so do folds, which are merged. So does cached(): each partition
//   keeps its rows for queries to come.
// - Groups, joins and sets run behind an exchange by the hash of their keys: group_by and aggregate send states of groups. A small other
//   side of a join is sent to each partition.
// - Sorts run behind an exchange by range.
// - hash_partitioned_by, the windows of over(key), and functions of such partitions run behind an exchange by hash
//   (divided_partitions.hpp). A take sends no more than its number of rows from each partition.
// - Verbs that need all rows in order run in the first partition. So do verbs with as_ordered(), since exchanges by hash lose the order
//   between partitions, and rows that are read no further than their reader goes: by a range-for, take, zip.
// - Collections that functions captured are sent to each partition.
// - In a loop, what does not depend on its rows is sent once, before it.
//
//   v1 exchange, gather      <- [ source trades, in 4 partitions | where, select ]
//   v2 reverse               <- [ v1 | ]
//
// Source: M. Isard et al., Dryad: Distributed Data-Parallel Programs from Sequential Building Blocks, EuroSys 2007 (stages and exchanges).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include <query/detail/function_ref.hpp>

#include "planner/machine_graph.hpp"

namespace query::planner {

// Functions that no other process can call, as a caller of a verb's rows does, with the reason.
using functions_here = std::unordered_map<const void*, std::string>;

struct cluster_options {
  int partitions = 1;
  std::uint64_t most_broadcast = 0;                   // bytes of the other side of a join that is sent to each partition
  function_ref<bool(const ir::type&)> can_travel;     // may rows of the type leave their partition?
  function_ref<std::string(const vertex&)> why_rows_are_sent;  // not states of the groups of a group_by or aggregate; "": states are
  function_ref<bool(const vertex&)> divides_file;     // is the file worth several readers?
  reading how = reading::whole;
  const functions_here* here = nullptr;               // of partition verbs and apply, which then run in the first partition
};

// After vertices have been placed, before mark_streams. Where some rows cannot travel, all stays in one partition, and a note says so.
// Gives the reason; "": there is none.
std::string split_over_partitions(machine_graph& g, const cluster_options& options);

// May the first partition take the result's rows from one partition after the other, as they come? They are gathered for nobody else,
// what is done to them there is done to each row by itself, and a partition that is computed again has them in the same order: those of
// groups, sets and joins are in another one where memory got short.
bool rows_come_in_pieces(machine_graph& g);

// Rows of the branch are divided over partitions, where it starts from this source.
bool is_divided(const branch& b);

// What range() gives, if that are whole numbers: each partition makes its own.
bool is_range(const logical& source);
inline constexpr std::size_t range_bytes = 16;               // of what its `source` points to
inline constexpr std::uint64_t least_divided_range = 1024;   // rows
// What repeat() gives, if the value is the same bytes anywhere: each partition makes its own. `source` points to the value, and behind it,
// at this byte, to the number of rows.
bool is_repeat(const logical& source);
constexpr std::size_t repeat_count_offset(std::size_t value_bytes) {
  return (value_bytes + alignof(std::uint64_t) - 1) / alignof(std::uint64_t) * alignof(std::uint64_t);
}
inline bool is_made_in_parts(const logical& source) { return is_range(source) || is_repeat(source); }

struct graph_copy {
  std::unique_ptr<machine_graph> graph;
  std::unordered_map<const vertex*, vertex*> of;  // what became of each vertex
};
graph_copy copy_of(const machine_graph& g);

}  // namespace query::planner
