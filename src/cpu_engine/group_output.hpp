// What the partitions of a group_by give, until all have run: columns or records in memory, or records that go to a store where they are
// too many, from which they come in the order that they have in memory.
//
//   const std::unique_ptr<group_output> out = groups_in_memory(vertex, context, sources, partitions);
//   out->take(partition, std::move(table), {}); out->end_partition(partition);   // on any threads, one at a time of a partition, or of a
//                                                                               // unit if there are several
//   return out->rows(few);
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu_engine/group_table.hpp"
#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Where groups stand in the result: in the order of the upper bits of their hashes, which are the upper ones of their partition's number,
// and then in that of their first appearance.
struct group_places {
  std::size_t partitions;
  unsigned order_bits, below;  // of a partition's number: those that count, and the others
  std::uint64_t opened;        // groups appeared first before this
  std::uint64_t few;           // so many groups of all parts, or fewer, come in the order of their first appearance alone
  // Partitions whose groups stand together are a unit.
  std::size_t units() const { return std::size_t{1} << order_bits; }
  std::size_t partitions_of_unit() const { return std::size_t{1} << below; }
  std::size_t unit_of(std::size_t partition) const { return partition >> below; }
};

class group_output {
 public:
  virtual ~group_output() = default;
  // opened: where each group appeared first; of as_ordered, and of results beyond memory.
  virtual void take(std::size_t partition, std::unique_ptr<group_table> groups, std::vector<std::uint64_t> opened) = 0;
  virtual void end_partition(std::size_t) {}
  // few: groups are in the order of their first appearance alone; of results beyond memory.
  virtual runtime::vertex_rows rows(bool few) = 0;
};

std::unique_ptr<group_output> groups_in_memory(const planner::vertex& v, runtime::run_context& context,
                                               std::vector<std::shared_ptr<const void>> sources, std::size_t partitions);
std::unique_ptr<group_output> groups_beyond_memory(const planner::vertex& v, const group_places& places, const vertex_tasks& tasks);

}  // namespace query::cpu
