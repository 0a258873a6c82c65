// Blocks of host rows on the device, one ahead: while the operator works on a block, the next one is read, packed into
// the pinned buffers and copied, on a stream of its own.
//
// The size of blocks adapts: where the device has no memory for a block, it is cut in two.
//
//   block_feed feed(gpu, source, type, columns, 1 << 20, context);
//   while (auto block = feed.next()) { run.supply(block.rows); ... }
#pragma once

#include <deque>
#include <future>

#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/out_of_core/host_blocks.hpp"

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

inline constexpr std::size_t fewest_rows_of_block = 1024;  // a block of so few is not cut any more

// One owner. The source is read by one thread at a time.
class block_feed {
 public:
  block_feed(std::shared_ptr<gpu_session> gpu, block_source& source, const ir::type* row,
             std::vector<input_column> columns, std::size_t most_rows, runtime::run_context& context)
      : gpu_(std::move(gpu)),
        source_(source),
        row_(row),
        columns_(std::move(columns)),
        most_(most_rows),
        context_(context) {}

  // Waits for the next block and starts to bring the one after it.
  device_block next();
  // The operator lacks memory: what was brought ahead goes back to the host, and blocks are no longer than this from
  // now on.
  void give_way(std::size_t most_rows);

 private:
  struct brought {
    host_block from;  // no rows: the end
    std::shared_ptr<const device_rows> rows;
    std::exception_ptr no_memory;
  };
  void start();
  brought bring();

  std::shared_ptr<gpu_session> gpu_;
  block_source& source_;
  const ir::type* row_;
  std::vector<input_column> columns_;
  std::size_t most_;
  runtime::run_context& context_;
  std::deque<host_block> returned_;  // read from the source, not on the device yet
  bool ended_ = false, failed_ = false;
  std::future<brought> ahead_;  // last: its task uses the members above
};

}  // namespace query::gpu_engine
