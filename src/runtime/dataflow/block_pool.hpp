// Datablocks of one graph: memory that a reader is done with serves the next block that a writer fills.
//
// Edges hold few blocks, so a graph soon has all that it will ever need: in steady state no memory is asked for, however many
// rows flow. The counters prove it.
//
//   auto pool = std::make_shared<block_pool>(session);
//   detail::flow_rows b = pool->fresh(row, 4096);   // empty; back in the pool when the last holder lets go
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include <query/detail/dataflow_plan.hpp>

#include "runtime/session_state.hpp"

namespace query::runtime {

// Thread-safe. Blocks keep their pool, the pool keeps the session whose memory it uses.
class block_pool : public std::enable_shared_from_this<block_pool> {
 public:
  explicit block_pool(std::shared_ptr<session_state> session) : session_(std::move(session)) {}
  ~block_pool();
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;

  // Room for at least so many rows of a type. Throws resource_error over the session's memory limit.
  detail::flow_rows fresh(const ir::type* row, std::size_t rows);

  struct counters {
    std::uint64_t made = 0, reused = 0;
  };
  counters counted() const;

 private:
  struct pooled;
  static void give_back(detail::flow_block* b) noexcept;

  const std::shared_ptr<session_state> session_;
  mutable std::mutex lock_;  // guards what follows
  std::array<pooled*, 64> idle_{};  // lists by the power of two of their bytes
  counters counted_;
};

}  // namespace query::runtime
