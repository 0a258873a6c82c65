// group_by with aggregates of the user's own (and any others of fixed states beside them), of more rows than fit the device: each block's
// rows are folded by group, in their order, and a group's state meets that of the blocks before. Keys and states stay on the device.
//
// A table maps keys to numbers of groups, the same in all blocks; keys and states lie under these numbers. A block adds to each of its
// groups once, by one thread: no locks, and states of earlier rows meet those of later ones. Where there is no room for more groups all go
// to host memory as (key, state) pairs, apart by the hash of the key; at the end each part's pairs meet in the order of the spills. A part
// that does not fit is put apart once more. What that takes at least is reserved before the first rows are taken, as by a group_stream.
//
//   state_stream groups(v, run);
//   while (auto rows = next()) groups.take(rows);
//   const block_results result = groups.finish();
#pragma once

#include <optional>

#include "gpu_engine/operators/in_order_kernels.hpp"
#include "gpu_engine/out_of_core/host_partitions.hpp"
#include "gpu_engine/out_of_core/out_of_core.hpp"

namespace query::gpu_engine {

// One owner.
class state_stream {
 public:
  state_stream(const planner::vertex& v, vertex_run& run);
  state_stream(const state_stream&) = delete;
  state_stream& operator=(const state_stream&) = delete;

  // Some aggregate wants rows by group, but all can be told from keys of up to 16 bytes and states of fixed size that own nothing.
  static bool possible(const planner::vertex& v);
  // Bytes of device memory that go with a row of a block.
  static std::size_t bytes_beside(const planner::vertex& v);
  // take()'s for a whole block: levels of states are rounded up to pieces, and the sort counts digits.
  static std::size_t bytes_at_work(std::size_t rows, std::size_t bytes_beside) { return (rows + 64) * bytes_beside + (64 << 10); }

  // Rows as run_groups_in_order takes them, behind those before. Throws out_of_memory with nothing changed, resource_error when there is
  // no way on.
  void take(const std::shared_ptr<const device_rows>& block);
  block_results finish();
  // Spills the states and goes on with a smaller table. False: it has the smallest.
  bool make_room();

 private:
  enum status : std::size_t { full_word = 1, ids_word };

  void prepare(const input_layout& in);
  struct group_memory {
    std::uint32_t bits = 0;
    device_address slots = 0, keys = 0, states = 0;
    device_buffer memory;  // none: that of the reserve
  };
  struct reserve {
    device_buffer memory;
    device_address table = 0;
    device_address leaving = 0;     // pairs on their way to the host, or rows of the result
    device_address leaving_to = 0;  // partitions of these pairs
    device_address arriving = 0;    // pairs on their way back, and the numbers of their groups
    device_address numbers = 0;
    std::size_t bytes = 0;          // of what leaves or arrives at once
    std::uint64_t pairs = 0;        // as many of them are that
  };

  void hold_reserve();
  group_memory placed(std::uint32_t bits, device_address at) const;
  group_memory allocated(std::uint32_t bits);
  void start_table(std::uint32_t bits);
  void start_table();
  void clear_table();
  bool map(const char* entry, std::uint64_t rows);
  bool grow();
  void fold(std::uint64_t rows);
  void spill();
  void meet_rows(const std::vector<host_partitions::piece>& pieces, std::uint64_t all);
  void meet_pairs(const void* rows, const std::vector<std::uint64_t>& starts, device_address at, device_address ids);
  void meet_parts(const host_partitions& parts, std::uint32_t level, std::vector<detail::table>& tables);
  std::shared_ptr<device_rows> groups();
  detail::table groups_on_host();
  void finish_groups(std::uint64_t first, std::uint64_t n, device_address to);
  std::uint64_t capacity(std::uint32_t bits) const { return (std::uint64_t{1} << bits) / 2; }
  std::size_t table_bytes(std::uint32_t bits) const;
  std::uint64_t most_pairs() const { return std::max<std::uint64_t>(most_bytes_ / 4 / k_->pair_bytes, 1); }  // at once
  void launch(const char* entry, std::uint64_t work);
  void use_table();

  const planner::vertex& v_;
  vertex_run& run_;
  std::size_t most_bytes_;
  std::optional<in_order::kernels> k_;
  std::vector<std::uint64_t> args_;
  std::shared_ptr<const device_rows> in_, no_rows_;  // kernels between blocks read no rows, but their parameters name the columns
  group_memory table_;
  reserve reserve_;
  int calm_ = 0;               // blocks since the table last had to be made smaller
  device_address count_ = 0;   // of the ids that were asked for, in all blocks
  std::uint64_t ids_ = 0;      // that were given
  bool folded_ = false;        // has any of them a state?
  std::uint64_t rows_ = 0;     // of the blocks so far
  std::optional<host_partitions> spilled_;
  std::optional<host_partitions>* spilled_to_ = &spilled_;  // or parts of one of its parts
};

}  // namespace query::gpu_engine
