// Blocks of host rows on the device, one ahead: while the operator works on a block, the next one is read, packed into
// the pinned buffers and copied, by a thread and on a stream of their own.
//
// That thread never waits for the device: as soon as a block has been packed it packs the next one, while the last copies
// of the block before are under way and its operator starts. So the bus has no gap between blocks, as long as the operator
// is the faster one. No more than two blocks are on the device at once.
//
// The size of blocks adapts: where the device has no memory for a block, it is cut in two; after some that came without waiting for
// memory, blocks are twice as long again, up to what they were at the start. Growth that fails is tried again half as often.
//
//   block_feed feed(gpu, source, type, columns, 1 << 20, context);
//   while (auto block = feed.next()) { run.supply(block.rows); ... }
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/out_of_core/host_blocks.hpp"
#include "gpu_engine/reserved_room.hpp"

namespace query::gpu_engine {

struct device_block {
  std::shared_ptr<const device_rows> rows;  // null: the end
  host_block from;                          // the same rows in host memory
  explicit operator bool() const { return rows != nullptr; }
};

// Rows [first, first + n) of rows on the device, where they are.
std::shared_ptr<const device_rows> slice(const std::shared_ptr<gpu_session>& gpu,
                                         const std::shared_ptr<const device_rows>& rows, std::uint64_t first,
                                         std::uint64_t n);

inline constexpr std::size_t fewest_rows_of_block = 1024;  // a block of so few is not cut any more, unless there is a room for it

// One owner. The source is read by one thread at a time.
class block_feed {
 public:
  block_feed(std::shared_ptr<gpu_session> gpu, block_source& source, const ir::type* row,
             std::vector<input_column> columns, std::size_t most_rows, runtime::run_context& context)
      : gpu_(std::move(gpu)),
        source_(source),
        row_(row),
        columns_(std::move(columns)),
        start_(most_rows),
        most_(most_rows),
        context_(context) {}
  ~block_feed();  // waits for the block that is being brought
  block_feed(const block_feed&) = delete;
  block_feed& operator=(const block_feed&) = delete;

  // Waits for the next block and has the one after it brought. The block before must have been given up, and what read it
  // must have ended: the memory may be written from here on.
  device_block next();
  // From now on blocks of fewest_rows_of_block and less are brought to the room, where they fit, and cut down to a row where they do not.
  // Null: none is.
  void bring_to(const reserved_room* room);
  // The operator lacks memory: what was brought ahead goes back to the host, and blocks are no longer than this from
  // now on.
  void give_way(std::size_t most_rows);

 private:
  struct brought {
    host_block from;  // no rows: the end
    std::shared_ptr<const device_rows> rows;  // copies to them may be under way,
    std::optional<event> copied;              // until then
    std::exception_ptr no_memory, error;
  };
  static constexpr std::size_t most_asked = 2;  // the block that next() waits for, and the one after it
  static constexpr std::size_t first_patience = 8, most_patience = 256;  // blocks
  void ask();
  brought take();
  void work();  // the thread
  brought bring(std::size_t most, const reserved_room* room);
  std::size_t fewest() const { return room_ ? 1 : fewest_rows_of_block; }
  void shrink_to(std::size_t rows);
  void grow();

  std::shared_ptr<gpu_session> gpu_;
  block_source& source_;
  const ir::type* row_;
  std::vector<input_column> columns_;
  bool failed_ = false;  // the last block, for a lack of memory
  const std::size_t start_;
  std::size_t good_ = 0;                   // blocks of full length since the last that memory was short for
  std::size_t patience_ = first_patience;  // so many are needed to grow
  bool grown_ = false;                     // since they got shorter the last time
  // Written with the mutex held:
  std::size_t most_;  // rows of a block
  const reserved_room* room_ = nullptr;

  // The thread's, or this one's while the thread has nothing to do:
  runtime::run_context& context_;
  std::deque<host_block> returned_;  // read from the source, not on the device yet
  bool ended_ = false;
  std::optional<stream_lease> stream_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t asked_ = 0;  // blocks to bring; none behind the end and behind one that failed
  bool working_ = false, stopping_ = false;
  std::deque<brought> ready_;
  std::thread thread_;
};

}  // namespace query::gpu_engine
