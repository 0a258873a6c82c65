// group_by of more rows than fit the device: blocks of rows go into one table of groups that stays there. While a sample of a block's keys
// says that its groups fit shared memory, they are grouped there first, and the table gets one state a group and block of threads
// (group_stream_tiers.cpp): rows of few groups would queue up at few places of it.
//
// Where the table may not grow any more, its groups are spilled: (key, state) pairs, partitioned by hash in host
// memory. At the end each partition's pairs are merged on the device; where a partition does not fit either, it is partitioned
// again, by another hash.
//
// Rows that are in the table may be lost with it: their source may not give them twice. So before the first of them goes there, a little
// memory is reserved that everything can be ended with: the smallest table, room for some pairs on their way to the host or back, and for
// some rows of the result. What goes faster with more memory tries to have it first.
//
//   group_stream groups(v, run);
//   while (auto block = feed.next()) groups.take(block.rows);
//   auto result = groups.finish();
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gpu_engine/operators/group_tier.hpp"
#include "gpu_engine/out_of_core/host_partitions.hpp"

namespace query::gpu_engine {

class group_stream {
 public:
  group_stream(const planner::vertex& v, vertex_run& run);
  group_stream(const group_stream&) = delete;
  group_stream& operator=(const group_stream&) = delete;

  // Can the groups be told from keys and states alone? Keys of any width and aggregates whose result is a row need the
  // rows.
  static bool possible(const planner::vertex& v, const input_layout& in);

  // The program of all its kernels. Throws not_generated.
  static group_kernels generate(const planner::vertex& v, const input_layout& in);

  // Throws out_of_memory with nothing changed, resource_error when there is no way on.
  void take(const std::shared_ptr<const device_rows>& block);
  // Spills the groups and goes on with a smaller table. False: it has the smallest.
  bool make_room();

  // The groups: rows on the device if they stayed there, else tables.
  struct result {
    std::shared_ptr<device_rows> kept;
    std::vector<detail::table> tables;
  };
  result finish();

  // The next block is all there is: worth a sample of its keys, and the tier that their number asks for.
  void expect_one_block() { one_block_ = true; }

  // For groups of several devices (group_stream_pairs.cpp). Has any row been taken? The others are for streams that have.
  bool begun() const { return has_table_ || pairs_ || spilled_; }
  bool spilled() const { return spilled_.has_value(); }
  // The groups as (key, state) pairs, in place of the table. Throws out_of_memory.
  void to_pairs();
  // Puts the pairs apart by their keys' hash. Waits for the device: others may read them then. Throws out_of_memory.
  void part_pairs(std::uint32_t parts);
  bool parted() const { return !starts_.empty(); }
  // Pairs in device memory: a stream's own, which keeps them, or copies of another's.
  struct pair_range {
    device_address at = 0;
    std::uint64_t n = 0;
  };
  pair_range all_pairs() const { return {pairs_->memory.address(), pairs_->n}; }
  pair_range pairs_of(std::uint32_t part) const;
  std::size_t pair_bytes() const { return g_->partial_bytes; }
  // The groups of pairs of several streams of the same vertex, in this one's device memory: in a table that is large enough from the
  // beginning. States are combined in the order of the ranges. The stream's own pairs are given up.
  result finish_pairs(std::span<const pair_range> ranges);
  // All groups of another stream of the same vertex, by way of the host.
  void take_spilled(group_stream& other);

 private:
  static constexpr std::uint32_t fewest_table_bits = 10, spill_parts = 256;

  // Arguments beside those of a group_by in one piece: partitions of spilled groups, and the parts of several devices.
  enum argument : std::uint32_t {
    places = group_argument_count,
    spill_seed,
    first_slot,
    end_slot,
    part_count,
    part_counts,
    part_cursors,
    argument_count
  };
  // Words of the status block.
  enum status : std::size_t { again_word = 1, full_word, grow_full_word, groups_word, merge_again_word, merge_full_word, part_word = 16 };
  // Where kernels list tiles that found no place, in the one list while they read the other, and the words that say so.
  struct listing {
    std::array<device_address, 2> tiles;
    std::uint64_t room;
    std::size_t again, full;
  };

  // Memory that nothing else takes while rows are in the table.
  struct reserve {
    device_buffer memory;
    device_address table = 0;              // of the fewest bits
    device_address leaving = 0;            // pairs on their way to the host, or rows of the result
    device_address leaving_to = 0;         // partitions of these pairs
    device_address arriving = 0;           // pairs on their way back
    std::array<device_address, 2> tiles{};  // of these
    std::size_t bytes = 0;                 // of what leaves or arrives at once
    std::uint64_t pairs = 0;               // as many of them are that
  };

  bool take_at_once(const std::shared_ptr<const device_rows>& block);
  void hold_reserve();
  void start_table(std::uint32_t bits);
  void make_table(std::uint32_t bits);
  void use_last_table();
  void empty_table(device_address at, std::uint32_t bits);
  bool tables_on_host(std::uint64_t groups, std::vector<detail::table>& tables);
  void place_all(const char* entry, std::array<device_address, 2> lists, std::uint64_t tiles, unsigned grid);
  void list_in(const listing& l, std::size_t list);
  void place_listed(const group_kernels& g, const char* entry, const listing& l);
  void choose_tier();
  std::uint64_t groups_of_block();
  const group_kernels& shared_kernels(gpu::group_tier tier);
  bool take_shared();
  bool grow();
  void spill();
  void spill_groups(std::uint64_t groups);
  void put_out(const char* entry, std::uint64_t room);
  void count_groups_later();  // into groups_word
  std::uint64_t count_groups();
  void pairs_to_table();
  void take_pairs(const pair_range& pairs);
  result finish_counted(std::uint64_t groups);
  device_buffer emit_later(std::uint64_t room);
  std::shared_ptr<device_rows> emit(std::uint64_t groups);
  std::shared_ptr<device_rows> emitted(device_buffer memory, std::uint64_t groups);
  void merge_parts(const host_partitions& parts, std::uint32_t level, std::vector<detail::table>& tables);
  void merge_pairs(const void* rows, std::uint64_t n);
  std::size_t table_bytes(std::uint32_t bits) const;
  std::uint32_t bits_of_table(std::uint64_t keys) const;  // no more than the table may have
  void launch(const char* entry, unsigned grid) { launch_of(*g_, entry, {grid, 256, 0}); }
  void launch_of(const group_kernels& g, const char* entry, launch_shape shape);
  void clear(std::size_t word) { run_.fill(run_.status_word(word), 0, 8); }

  const planner::vertex& v_;
  vertex_run& run_;
  std::size_t most_table_bytes_;
  std::optional<group_kernels> g_;
  std::array<std::uint64_t, argument_count> args_{};
  // Of the block at hand; kernels between blocks read no rows, but their parameters name the columns.
  std::shared_ptr<const device_rows> in_, no_rows_;
  device_buffer table_, tiles_[2];  // no table, though there is one: that of the reserve
  bool has_table_ = false;
  reserve reserve_;
  int calm_ = 0;  // blocks since the table last had to be made smaller
  std::optional<group_kernels> sample_, shared_[3];  // for blocks that lie as that of g_ did; a program for each tier with tables of blocks
  std::optional<gpu::group_plan> tier_;              // one of these; nothing: rows go into the table
  std::uint64_t unsampled_ = 0;                      // rows since the last sample
  std::optional<group_pairs> pairs_;   // in place of the table
  std::optional<group_pairs> given_;   // merged here; other devices may still read theirs
  std::vector<std::uint64_t> starts_;  // of their parts, and the end of the last
  std::optional<host_partitions> spilled_;
  std::optional<host_partitions>* spilled_to_ = &spilled_;  // or parts of one of its partitions
  bool one_block_ = false;
};

}  // namespace query::gpu_engine
