// Under query/dataflow.hpp: blocks, ports and the graph without the rows' types, as the library's runner sees them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <query/detail/signal.hpp>
#include <query/detail/type.hpp>
#include <query/session.hpp>

namespace query::runtime {
class block_pool;
}

namespace query::detail {

// Rows side by side, counted by those who hold them. They do not change while more than one does.
struct flow_block {
  const ir::type* row = nullptr;
  void* rows = nullptr;
  std::size_t n = 0, room = 0;                    // rows that are there, and that fit
  std::shared_ptr<void> owner;                    // of rows that were not made in a pool
  void (*give_back)(flow_block*) noexcept = nullptr;  // called by the last holder
  std::atomic<std::uint32_t> holders{1};
};

class flow_rows {
 public:
  flow_rows() = default;
  explicit flow_rows(flow_block* held) noexcept : b_(held) {}  // takes over the caller's hold
  flow_rows(const flow_rows& other) noexcept : b_(other.b_) {
    if (b_) b_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  flow_rows(flow_rows&& other) noexcept : b_(std::exchange(other.b_, nullptr)) {}
  flow_rows& operator=(flow_rows other) noexcept {
    std::swap(b_, other.b_);
    return *this;
  }
  ~flow_rows() {
    if (b_ && b_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) b_->give_back(b_);
  }

  explicit operator bool() const { return b_ != nullptr; }
  flow_block* operator->() const { return b_; }
  std::size_t size() const { return b_ ? b_->n : 0; }
  bool shared() const { return b_ && b_->holders.load(std::memory_order_acquire) != 1; }

 private:
  flow_block* b_ = nullptr;
};

// A block around rows that somebody made: `owner` destroys them.
flow_rows adopt(const ir::type* row, void* rows, std::size_t n, std::shared_ptr<void> owner);

struct flow_item {
  enum class kind : std::uint8_t { closed, rows, scope };
  kind what = kind::closed;              // closed: nothing comes any more
  dataflow::signal scope{};
  std::uint32_t depth = 0;               // of that scope; 1: outermost
  flow_rows rows{};
};

// The ends of edges in a vertex that is running. Both throw query::cancelled when the run stops.
class flow_input {
 public:
  virtual flow_item receive() = 0;  // waits

 protected:
  ~flow_input() = default;
};
class flow_output {
 public:
  virtual void push(flow_rows rows) = 0;  // waits while a reader's edge is full
  virtual void tell(dataflow::signal s) = 0;
  virtual flow_rows fresh(const ir::type* row, std::size_t rows) = 0;  // an empty block; 0: as long as the graph's blocks are

 protected:
  ~flow_output() = default;
};

struct flow_edge {
  std::string name;
  std::size_t capacity = 0;  // items that may wait; 0: no limit
};

// Where an input's items come from: an edge, or others put together.
struct flow_source {
  enum class kind : std::uint8_t { edge, merged, initial, iterated };
  kind what = kind::edge;
  std::size_t edge = 0;              // of an iterated source: the back edge
  std::vector<flow_source> parts{};  // merged: the most urgent first
  flow_rows initial{};
  std::uint64_t most_rounds = 0;
};

// One edge of an output, and what goes there.
struct flow_route {
  std::size_t edge = 0;
  bool otherwise = false;            // what no predicate of the output took
  std::shared_ptr<const void> f{};   // null: everything
  void (*mark)(const void* f, const void* rows, std::size_t n, bool* takes) = nullptr;  // each row, or
  bool (*whole)(const void* f, const flow_rows& rows) = nullptr;                        // the block
};

struct flow_vertex {
  std::string name;
  std::vector<flow_source> inputs{};
  std::vector<std::vector<flow_route>> outputs{};
  std::shared_ptr<const void> f{};
  void (*call)(const void* f, flow_input* const* in, flow_output* const* out) = nullptr;
};

struct flow_plan {
  std::vector<flow_edge> edges;
  std::vector<flow_vertex> vertices;
  std::size_t rows_of_block = 4096;
  std::shared_ptr<run_settings> how = std::make_shared<run_settings>();
  std::shared_ptr<runtime::block_pool> pool{};  // made by the first run
};

}  // namespace query::detail

namespace query::dataflow {

struct edge_report {
  std::string name;
  std::uint64_t blocks = 0, rows = 0, signals = 0;  // that went through it
  std::size_t most_waiting = 0;                     // blocks and signals unread at a time
};
// What a run did.
struct run_report {
  std::vector<edge_report> edges;       // in the order in which they were made
  std::uint64_t blocks_made = 0;        // for which memory was asked for
  std::uint64_t blocks_reused = 0;      // that came from the graph's pool
};

}  // namespace query::dataflow

namespace query::detail {

dataflow::run_report run_dataflow(flow_plan& plan);
std::string dataflow_dot(const flow_plan& plan);

}  // namespace query::detail
