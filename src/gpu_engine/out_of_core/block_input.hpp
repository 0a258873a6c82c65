// A branch of a vertex, block by block: its source on the device piece by piece, joins run, and what is behind them
// given to one consumer. A block that the operator has no memory for is cut in two.
#pragma once

#include <optional>

#include "gpu_engine/out_of_core/block_feed.hpp"
#include "gpu_engine/out_of_core/host_partitions.hpp"
#include "gpu_engine/reserved_room.hpp"
#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

inline constexpr std::size_t builds_of_budget = 6;   // build sides that stay for all blocks, with their tables
inline constexpr std::size_t beside_build_row = 72;  // bytes that a join's tables take for a row of the build side

// What takes the blocks, in order: vertex_run::input gives the rows behind the last join.
class block_consumer {
 public:
  virtual ~block_consumer() = default;
  // Throws out_of_memory with nothing changed: it is called again with fewer rows.
  virtual void take() = 0;
  // Gives back device memory that it need not hold.
  virtual void release() {}
  // Gives back some that it does need, and goes on more slowly. False: there is no more of that.
  virtual bool make_room() { return false; }
  // Device memory that take() has at once for so many rows, but for what one row may give without end: the rows of a join, strings.
  virtual std::size_t bytes_at_work(std::size_t rows) const { return rows * 64; }
  // Is what it makes of each block in host memory when release() has run, so that the CPU may go on from there where a stream cannot be
  // read again?
  virtual bool goes_on_elsewhere() const { return false; }
  // After a failure: is that of the last block there, too?
  virtual bool settle() noexcept { return true; }
};

class block_input {
 public:
  // `fields` of the source are read by a branch that is not in parts; `bytes_beside` of device memory go with each row.
  // `only`: these of the source's rows.
  block_input(const planner::branch& b, std::vector<bool> fields, std::size_t bytes_beside, vertex_run& run,
              const host_block* only = nullptr);
  ~block_input();
  block_input(const block_input&) = delete;
  block_input& operator=(const block_input&) = delete;

  // The consumer's kernels read rows by generated functions alone: those of a range need not lie in memory, and its blocks are longer.
  void may_compute_rows();
  void each(block_consumer& consumer);
  // The source's rows by the key of a node: each partition at once, on the device. For operators that cannot merge.
  void each_partition(const detail::logical& n, const detail::user_function& key, block_consumer& consumer);
  // each() failed, and whoever reads the branch next gets only those rows that are not in what the consumer has.
  bool left_the_rest() const { return left_; }

 private:
  std::unique_ptr<block_source> open(streamed_rows::keep which = streamed_rows::keep::first) const;
  host_partitions partitions(const ir::type* row, std::uint32_t parts);
  void partition(block_source& source, const ir::type* row, const planner::branch& stages, const detail::logical& n,
                 const detail::user_function& key, host_partitions& to);
  void feed(block_source& source, block_consumer& consumer);
  void feed_once(block_consumer& consumer);
  void feed_counted(block_consumer& consumer);
  void report(std::uint64_t done, std::uint64_t of);
  void take(const std::shared_ptr<const device_rows>& rows, std::uint64_t first, block_feed* from, block_consumer& consumer);
  device_block next(block_feed& blocks, block_consumer& consumer);
  void hold_rooms(const block_consumer& consumer);
  void work_in_rooms(block_feed& blocks, bool there);
  bool more_room(block_consumer& consumer, block_feed* blocks, std::size_t rows);
  bool wait_for_memory(std::size_t rows);
  std::vector<const planner::stage*> joins() const;
  void each_pair(const planner::stage& join, block_consumer& consumer);
  void need_rows();

  const planner::branch& b_;
  planner::branch before_;  // the first join
  vertex_run& run_;
  const ir::type* row_;
  std::vector<bool> fields_;  // that are brought
  std::vector<input_column> columns_;
  host_block source_;  // rows that lie in host memory; none: a stream
  bool stream_ = false, computed_ = false, left_ = false;
  bool once_ = false;                   // each row is handed out once
  std::uint64_t last_ = 0, taken_ = 0;  // rows before the last block, or piece of one, that was taken, and with it
  std::uint64_t gone_ = 0;              // rows that are no longer in host memory
  // Where the rows before cannot be had again: room for blocks of fewest_rows_of_block, and for what is done with one.
  std::optional<reserved_room> arriving_, at_work_;
  bool in_rooms_ = false;                  // short blocks lie and are worked on there, as others have the rest of the memory
  double waited_ = 0, waited_in_all_ = 0;  // seconds, for others to give memory back; the former since a block that was not cut
  std::size_t budget_, most_rows_;
  std::uint64_t reported_ = 0;  // hundredths of the rows
};

}  // namespace query::gpu_engine
