// group_by with many groups, or more than memory has room for: rows, and groups that tables have already, are put apart by the hash of
// their key, so that no merge is serial and rows wait in files where memory is full. Partition by partition, a table takes the groups;
// where a partition has more than a table may have, it is read several times, each time for some of the hashes. The result, too, goes to
// files where it may be too large. (Kuiper, Boncz, Mühleisen, Robust External Hash Aggregation, ICDE 2024.)
#pragma once

#include <memory>
#include <vector>

#include "cpu_engine/group_table.hpp"
#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/stored_group_rows.hpp"
#include "planner/machine_graph.hpp"

namespace query::cpu {

// The groups of the first rows of a part of the input.
struct part_groups {
  std::unique_ptr<group_table> table;
  std::size_t part;
};

struct group_input {
  std::vector<part_groups> tables;           // by part, none null
  std::unique_ptr<stored_group_rows> rows;   // that went to no table; may be null
  // The rows of each part make groups of their own, which then join those of the parts before: what tables of parts do, so that sums of
  // floats do not depend on whether memory had room for these.
  bool by_part = false;
  // Without as_ordered the result is in order of the upper bits of hashes, and then of appearance: of so many bits, or of none if the
  // groups are few. Those of all parts together, of which a group has as many as parts that it is in, unless few_in_all.
  unsigned order_bits = 0;
  std::uint64_t few = 0;
  bool few_in_all = false;
  bool tight = false;  // memory may have no room for partitions and results; rows are numbered then
  double groups = 0;   // about so many in all; 0: nobody knows
};

// sources: what keys may lie in.
runtime::vertex_rows group_partitioned(const planner::vertex& v, group_input input, runtime::run_context& context,
                                       std::vector<std::shared_ptr<const void>> sources, const group_program& program,
                                       const function_calls& key, const column_key* columns);

// May rows and groups leave memory?
bool groups_may_leave_memory(const detail::logical& n, const runtime::run_context& context);

// How many bits number the partitions of so many rows and groups of tables, of about so many groups; 0: nobody knows.
struct group_partition_bits {
  group_partition_bits(const detail::logical& n, std::uint64_t rows, double groups, const runtime::run_context& context);
  unsigned of_order;   // where memory has room
  unsigned by_memory;  // where it may have none: then rows are numbered
  bool tight;          // it may have none
};

}  // namespace query::cpu
