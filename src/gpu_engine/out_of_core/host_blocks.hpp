// Rows that do not fit the device, as blocks that do: cut from host memory, or read from a stream as they come.
//
//   whole_rows source({.rows = trades.data(), .n = trades.size()}, type, owner);
//   host_block b;
//   while (source.next(1 << 20, b)) upload(b.rows);
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/local_engine.hpp"

namespace query::gpu_engine {

struct host_block {
  detail::row_block rows;
  std::shared_ptr<const void> owner;  // keeps the rows, and the base addresses of columns; null: somebody else does
  std::size_t part = 0;               // of a partitioned input
};

// Rows [first, first + n) of a block of rows of this type.
host_block slice(const host_block& b, const ir::type* row, std::size_t first, std::size_t n);

// One owner, one reader; the reader may change threads between two calls.
class block_source {
 public:
  virtual ~block_source() = default;
  // At most `most` rows, at least one; false at the end. A block lives until the next call, longer if it has an owner.
  virtual bool next(std::size_t most, host_block& b) = 0;

  // For sources that cannot be read a second time. The rows before this one are in good hands, in host memory.
  virtual void put_away(std::uint64_t /*end*/) {}
  // Nobody reads this any more. Whoever reads the branch next gets `instead` of the rows that were put away, those that were not, and
  // what the source still has. False: it gets all rows as they were.
  virtual bool give_back(std::vector<runtime::begun_streams::rows> /*instead*/) { return false; }
};

// Rows that lie in host memory side by side.
class whole_rows final : public block_source {
 public:
  whole_rows(const detail::row_block& rows, const ir::type* row, std::shared_ptr<const void> owner)
      : all_{rows, std::move(owner)}, row_(row) {}
  bool next(std::size_t most, host_block& b) override;

 private:
  host_block all_;
  const ir::type* row_;
  std::size_t at_ = 0;
};

// Rows of a branch's source that makes them as they are read (a generator, a range): each block owns its rows. For who takes the vertex
// over the first are kept; with until_put_away all that have not been put away, too.
class streamed_rows final : public block_source {
 public:
  enum class keep { first, until_put_away };
  streamed_rows(const planner::branch& b, keep which, runtime::run_context& context);
  bool next(std::size_t most, host_block& b) override;
  void put_away(std::uint64_t end) override;
  bool give_back(std::vector<runtime::begun_streams::rows> instead) override;

 private:
  const ir::type* row_;
  keep which_;
  runtime::run_context& context_;
  std::shared_ptr<runtime::begun_streams::stream> begun_;
  runtime::begun_reader stream_;
  std::mutex mutex_;  // blocks are read by one thread and put away by another
  std::uint64_t given_ = 0;
  std::deque<host_block> under_way_;
};

}  // namespace query::gpu_engine
