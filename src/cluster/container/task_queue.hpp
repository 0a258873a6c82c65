// The queue of a process for its partition of one query. It pulls the blocks that a task needs, lets one task run at a time, and keeps what
// later tasks read. It is a state machine like master/master.hpp: the master talks to it, and its driver pulls and works for it.
//
//   task_queue q({.window = 64 << 20});
//   q.handle(task{...}, actions);                     // pull{...}, work_on{...}
//   q.handle(pulled{id, block}, actions);
//   q.handle(worked{id, true}, actions);
//
// Tasks begin in their order, but one that waits for blocks lets others by, unless they are of its vertex or read what it makes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "cluster/master/tasks.hpp"

namespace query::cluster {

// Events: a task, and these.
struct other_block {  // in the place of its sender's earlier one
  task_id task;
  block instead;
};
struct no_longer_read {
  step_id step = 0;
};
struct given_up {  // nobody wants its tasks, nor what they left
  step_id step = 0;
};
struct pulled {
  task_id task;
  block what;
};
struct not_pulled {
  task_id task;
  block what;
  bool gone = false;  // its sender has not got it
  std::uint32_t milliseconds = 0;  // it was tried for
};
struct worked {
  task_id task;
  bool well = true;
};
using queue_event = std::variant<task, other_block, no_longer_read, given_up, pulled, not_pulled, worked>;

// Actions.
struct pull {
  task_id task;
  block what;
};
struct discard {  // what was pulled and is not wanted any more
  task_id task;
  block what;
};
struct work_on {
  cluster::task task;
};
struct say_missing {
  task_id task;
  block what;
  bool gone = false;
  std::uint32_t milliseconds = 0;
};
struct forget_rows {
  step_id step = 0;
  std::uint64_t vertex = 0;
  bool in_blocks = false;  // of a send or hold; else the vertex's table
};
using queue_action = std::variant<pull, discard, work_on, say_missing, forget_rows>;
using queue_actions = std::vector<queue_action>;

class task_queue {
 public:
  struct options {
    std::uint64_t window = std::uint64_t{64} << 20;  // bytes that are on their way at once, or one block that is larger
  };
  explicit task_queue(options o) : options_(o) {}
  // Of a process with so many bytes of memory; 0: no limit.
  static options within(std::uint64_t memory) {
    constexpr std::uint64_t share = 8;
    const options most;
    return {memory ? std::min(most.window, memory / share) : most.window};
  }

  void handle(const queue_event& e, queue_actions& out);
  std::uint64_t on_the_way() const { return on_the_way_; }
  bool holds_nothing() const { return held_.empty() && entries_.empty(); }

 private:
  enum class state : std::uint8_t { expected, wanted, on_the_way, here, missing };  // expected: its sender is at it
  struct entry {
    cluster::task task;
    std::vector<state> blocks;
    bool working = false;
  };
  struct rows {
    std::uint64_t vertex = 0;
    bool in_blocks = false;
  };

  void on(const task& e, queue_actions& out);
  void on(const other_block& e, queue_actions& out);
  void on(const no_longer_read& e, queue_actions& out);
  void on(const given_up& e, queue_actions& out);
  void on(const pulled& e, queue_actions& out);
  void on(const not_pulled& e, queue_actions& out);
  void on(const worked& e, queue_actions& out);
  bool comes_behind(const cluster::task& next, const cluster::task& earlier) const;
  entry* waiting(const task_id& t);  // null: it has begun, or another attempt has taken its place
  bool may_begin(std::size_t number) const;
  void arrived(const block& b) { on_the_way_ -= b.size.bytes; }
  void go_on(queue_actions& out);

  options options_;
  std::deque<entry> entries_;
  std::map<step_id, rows> held_;
  std::set<step_id> dropped_;  // once no task here reads them
  std::uint64_t on_the_way_ = 0;
};

}  // namespace query::cluster
