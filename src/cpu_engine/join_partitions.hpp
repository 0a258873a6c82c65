// Joins whose build side has no room in memory: both sides are put apart by the hash of their keys, joined partition by partition, and the
// rows of the result put in the order of the probe side's rows (positioned_rows.hpp), as they come of a join in memory.
//
// If a partition is too large because many rows have one key, its build rows are joined a block at a time with all probe rows.
//
// A join of pairs runs over columns where both sides give columns that stay where they are: strings are kept by number then.
//
//   std::shared_ptr<made_tables> rows = join_partitions(vertex, build_left, interpreted, std::move(probe), std::move(build), room, tasks);
#pragma once

#include <memory>
#include <vector>

#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/pieces.hpp"

namespace query::cpu {

// The rows of a side: those that have been collected, and those that come.
struct join_input {
  std::vector<piece> first;
  std::unique_ptr<pipeline> rest;  // null: no more
  int vertex = -1;                 // whose rows these are (planner::vertex::number), where it did not run before
  std::size_t row_heap = 0;        // about what a row owns on the heap
};

// Bytes of the hash table over so many keys, and of what lies beside it, about.
std::uint64_t join_table_bytes(const detail::logical& join, bool build_left, std::uint64_t rows);
// Can both sides be put apart?
bool can_be_partitioned(const detail::logical& join);

// v: stands for the join (v->node), and lives as long as the rows. room: bytes of memory that all of it may take.
std::shared_ptr<made_tables> join_partitions(std::shared_ptr<const planner::vertex> v, bool build_left, bool interpreted, join_input probe,
                                             join_input build, std::size_t room, const vertex_tasks& tasks);

}  // namespace query::cpu
