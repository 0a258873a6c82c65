// group_by of more rows than fit the device: blocks of rows go into one table of groups that stays there.
//
// Where the table may not grow any more, its groups are spilled: (key, state) pairs, partitioned by hash in host
// memory. At the end each partition's pairs are merged on the device.
//
//   group_stream groups(v, run);
//   while (auto block = feed.next()) groups.take(block.rows);
//   auto result = groups.finish();
#pragma once

#include <optional>

#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/out_of_core/host_partitions.hpp"

namespace query::gpu_engine {

class group_stream {
 public:
  group_stream(const planner::vertex& v, vertex_run& run);

  // Can the groups be told from keys and states alone? Keys of any width and aggregates whose result is a row need the
  // rows.
  static bool possible(const planner::vertex& v, const input_layout& in);

  // Throws out_of_memory with nothing changed, resource_error when there is no way on.
  void take(const std::shared_ptr<const device_rows>& block);

  // The groups: rows on the device if they stayed there, else tables.
  struct result {
    std::shared_ptr<device_rows> kept;
    std::vector<detail::table> tables;
  };
  result finish();

  std::uint64_t spills() const { return spills_; }

  // The next block is all there is: worth a sample of its keys, and tables in shared memory where they are few.
  void expect_one_block() { one_block_ = true; }

  // For groups of several devices. Has any row been taken? The others are for streams that have.
  bool begun() const { return g_.has_value(); }
  bool spilled() const { return spilled_.has_value(); }
  std::uint64_t groups() { return count_groups(); }
  // (key, state) pairs in device memory.
  struct pairs {
    device_buffer memory;
    std::uint64_t n = 0;
    std::size_t bytes = 0;  // of a pair
  };
  // Those groups of the table whose keys belong to part `part` of `parts`. The table keeps them.
  pairs pairs_of(std::uint32_t part, std::uint32_t parts);
  void clear_table();
  // Pairs of another stream of the same vertex, in this one's device memory.
  void take_pairs(const device_buffer& memory, std::uint64_t n);
  // All groups of another stream of the same vertex, by way of the host.
  void take_spilled(group_stream& other);

 private:
  static group_kernels generate(const planner::vertex& v, const input_layout& in);
  bool take_at_once(const std::shared_ptr<const device_rows>& block);
  void start_table(std::uint32_t bits);
  void place_all(const char* entry, std::uint64_t tiles, unsigned grid);
  bool grow();
  void spill();
  std::uint64_t count_groups();
  std::shared_ptr<device_rows> emit(std::uint64_t groups);
  void merge_part(std::uint32_t part);
  std::size_t table_bytes(std::uint32_t bits) const;
  unsigned blocks(std::uint64_t items) const;
  void launch(const char* entry, unsigned grid);
  void clear(std::size_t word) { run_.fill(run_.status_word(word), 0, 8); }

  const planner::vertex& v_;
  vertex_run& run_;
  std::size_t most_table_bytes_;
  std::optional<group_kernels> g_;
  std::array<std::uint64_t, group_argument_count + 3> args_{};
  // Of the block at hand; kernels between blocks read no rows, but their parameters name the columns.
  std::shared_ptr<const device_rows> in_, no_rows_;
  device_buffer table_, tiles_[2];
  std::optional<host_partitions> spilled_;
  std::uint64_t spills_ = 0;
  bool one_block_ = false;
};

}  // namespace query::gpu_engine
