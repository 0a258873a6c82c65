// The application master of one query: which task runs when, and again after a loss. A state machine without thread, clock, socket or disk:
// events come in, actions go out, and the same events give the same actions.
//
//   master m({.partitions = 4, .others_from = 1});
//   const step_id s = m.submit({.vertex = 7, .does = work::run, .partitions = 4}, actions);
//   m.handle(task_done{{s, 2, 1}, host, result}, actions);
//   if (m.done(s)) ...
//
// A query's steps form a graph: a task reads rows of its own partition, and a receiving task what all tasks of a sending step hold for it.
// Rows live in the process that made them, blocks until their receivers have them. When a process is lost, the tasks whose rows somebody
// still wants run again in its next incarnation, and those whose blocks are gone, wherever they are: the lineage of what is lost.
// A task that takes much longer than its siblings is copied: the next incarnation begins while the slow one goes on (master_copies.cpp).
// Source: Zaharia et al., Resilient Distributed Datasets, NSDI 2012; docs/design/029.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/master/tasks.hpp"

namespace query::cluster {

struct step {
  std::uint64_t vertex = 0;
  work does = work::run;
  std::uint32_t partitions = 1;   // in which it runs: the first ones
  std::vector<step_id> reads{};   // of the same partition
  step_id receives = 0;           // receive: the step whose blocks it pulls
  std::vector<std::vector<std::byte>> arguments{};  // none, one for all tasks, or one for each
  // Of a round of a loop whose rows lie in partitions: it reads what the rounds before it left, which are given up. So it does not run
  // again for a loss, which gives up all such steps, but those that hold blocks in a process that is never lost (rounds_lost).
  bool of_round = false;
  // send: its blocks are a partition's rows in order, read one after the other by steps of one block each, and stay until it is released.
  bool in_pieces = false;
  struct piece {
    std::uint32_t sender = 0, bucket = 0;
  };
  std::optional<piece> only{};    // receive, of such a step: this block. Its rows leave the query: they are not computed another way after
};

// Events.
struct host_ready {
  host_id host;
};
struct host_lost {
  host_id host;
  std::string why;
};
struct task_done {
  task_id task;
  host_id host;
  task_result result;
};
struct task_failed {  // by a function of the user's, say: its error is with who drives the master
  task_id task;
  host_id host;
};
// A receiver could not pull a block: `gone` where the sender has not got it, else nobody knows, and it tried for so long.
struct block_missing {
  task_id task;
  host_id host;
  block wanted;
  bool gone = false;
  std::uint32_t milliseconds = 0;
};
struct look_for_slow {};  // now and then
using master_event = std::variant<host_ready, host_lost, task_done, task_failed, block_missing, look_for_slow>;

// Actions.
struct start_host {
  host_id host;
  std::optional<std::uint32_t> in{};  // a copy of a slow one: in the process of this partition, which has nothing to do
};
struct take_over {  // the copy is the partition's host from now on
  host_id host;
};
struct end_host {  // of a copy and the slow one, that which comes second
  host_id host;
};
struct run_task {
  host_id host;
  cluster::task task;
};
struct redirect {  // of a receiver that runs: there is another block in the place of the sender's earlier one
  host_id host;
  task_id task;
  block instead;
};
struct drop {  // what the step left there goes, once no task that was asked for reads it
  host_id host;
  step_id step = 0;
};
struct give_up {  // nobody waits for the step's tasks any more
  host_id host;
  step_id step = 0;
};
using master_action = std::variant<start_host, take_over, end_host, run_task, redirect, drop, give_up>;
using master_actions = std::vector<master_action>;

class master {
 public:
  struct options {
    std::uint32_t partitions = 1;
    std::uint32_t others_from = 1;   // hosts of partitions from here on are other processes; those before it are never lost
    std::uint32_t most_losses = 2;   // of one partition's host: a function that ends its process does so each time
    std::uint32_t most_waited = 30'000;  // milliseconds, in vain, for one block
    bool replayable = true;          // sources can be read again
    std::uint64_t slow_after = 0;    // milliseconds more than twice the median of its siblings: then a task is copied; 0: never
  };
  explicit master(options o);

  void begin(master_actions& out);  // starts the hosts
  step_id submit(step s, master_actions& out);
  // Steps that are done, and whose rows nobody is to read any more but by each other, all at once.
  void release(const std::vector<step_id>& done, master_actions& out);
  void handle(const master_event& e, master_actions& out);
  void set_time(std::uint64_t milliseconds) { now_ = std::max(now_, milliseconds); }  // of what comes next
  // All steps of rounds, as the loop has ended; what they held, too.
  void give_up_rounds(master_actions& out) { give_up_rounds(true, out); }
  // A loss has given up the steps of rounds. Said once.
  bool take_rounds_lost() { return std::exchange(rounds_lost_, false); }
  bool knows(step_id s) const { return steps_.contains(s); }
  bool is_host(const host_id& h) const { return host_of(h.partition) == h; }
  bool is_copy(const host_id& h) const { return copy_ && copy_->host == h; }

  bool has(step_id s, std::uint32_t partition) const { return partition < steps_.at(s).tasks.size(); }
  bool done(step_id s) const;
  bool done(step_id s, std::uint32_t partition) const;
  const task_result& result(step_id s, std::uint32_t partition) const;

  // The query cannot go on. Of several tasks that failed it is the one of the first step and partition, as soon as those before it have
  // ended: the error that the query would have had in one process.
  struct failure {
    std::optional<task_id> task;  // else a host that was lost too often, or a query that cannot be computed again
    std::string why;
  };
  const std::optional<failure>& failed() const { return failed_; }

  // What ran again because its process, or its block, was lost; and how many processes were. Tasks that were copied, and copies that were
  // done first.
  struct repairs {
    std::uint64_t hosts = 0, tasks = 0, copied = 0, won = 0;
  };
  const repairs& repaired() const { return repaired_; }
  bool holds_nothing() const { return steps_.empty(); }

 private:
  enum class state : std::uint8_t { idle, waiting, asked, done, failed };  // idle: its rows are gone, and nobody misses them
  struct one {
    state is = state::idle;
    std::uint32_t attempt = 0;
    std::uint32_t attempts = 0;          // so many have been asked for
    host_id host;
    task_result result;
    std::vector<std::uint32_t> only;     // send: the buckets of the last attempt; empty: all
    std::vector<std::uint32_t> waited;   // receive: milliseconds, for each sender
    std::uint32_t given = 0;             // send, in pieces: so many of them have been asked for
    std::uint64_t asked = 0, took = 0;   // milliseconds: when it was, and how long it worked
    bool copied = false;
  };
  struct known_step {
    step what;
    std::vector<one> tasks;
    one copy{};                           // of the task of the partition whose process is slow
    std::vector<step_id> readers;
    std::uint32_t done = 0, pending = 0;  // tasks; pending: waiting or asked
    std::uint64_t last_done = 0;
    bool released = false;
  };
  struct host {
    enum class is : std::uint8_t { starting, ready } now = is::starting;
    std::uint32_t incarnation = 0, made = 0;  // made: counts copies, too
    std::uint32_t losses = 0;
    std::uint64_t last_done = 0;
  };
  // There is at most one at a time. It runs the tasks that the copied task needs, in a place of their own behind the partitions.
  struct copy_of_host {
    host_id host;
    step_id of = 0;
    bool ready = false;
  };
  using place = std::pair<step_id, std::uint32_t>;

  // ------------------------------------------------------------ places: partitions, and the copy
  std::uint32_t copy_place() const { return static_cast<std::uint32_t>(hosts_.size()); }
  std::uint32_t partition_of(std::uint32_t at) const { return at == copy_place() ? copy_->host.partition : at; }
  bool has_place(const known_step& k, std::uint32_t at) const {
    return at == copy_place() ? copy_ && copy_->host.partition < k.tasks.size() : at < k.tasks.size();
  }
  one& task_at(known_step& k, std::uint32_t at) { return at == copy_place() ? k.copy : k.tasks[at]; }
  const one& task_at(const known_step& k, std::uint32_t at) const { return at == copy_place() ? k.copy : k.tasks[at]; }
  std::vector<std::uint32_t> places(const known_step& k) const;
  std::uint32_t place_of_sender(const known_step& sending, std::uint32_t receiver, std::uint32_t sender) const;
  static bool is_pending(const one& t) { return t.is == state::waiting || t.is == state::asked; }
  static bool is_pending(const known_step& k) { return k.pending > 0 || is_pending(k.copy); }

  static bool is_held(const known_step& k) { return k.what.does == work::hold && k.pending == 0; }  // and so it stays
  host_id host_of(std::uint32_t at) const {
    return at == copy_place() ? copy_->host : host_id{at, hosts_[at].incarnation};
  }
  bool local(std::uint32_t partition) const { return partition < options_.others_from; }
  // Its place; none: it is an earlier attempt's, or a lost host's.
  std::optional<std::uint32_t> current(const task_id& t, const host_id& h) const;
  void set(known_step& k, std::uint32_t p, state now);
  std::vector<std::uint32_t> buckets_wanted(const known_step& sending) const;
  static bool reads_sender(const step& receiving, std::uint32_t sender) { return !receiving.only || receiving.only->sender == sender; }
  block block_for(const step& receiving, std::uint32_t sender, std::uint32_t receiver) const;
  bool may_run(step_id s, const known_step& k, std::uint32_t p) const;
  void try_run(step_id s, std::uint32_t p, master_actions& out);
  void settle(master_actions& out);
  void replace_host(std::uint32_t partition, master_actions& out);
  void replace_task(known_step& k, std::uint32_t partition, const one& copy);

  // ------------------------------------------------------------ copies of slow tasks (master_copies.cpp)
  std::uint64_t works_since(const known_step& k, std::uint32_t partition) const;
  bool is_slow(const known_step& k, std::uint32_t partition) const;
  std::optional<std::uint32_t> idle_host(std::uint32_t other_than) const;
  bool can_be_copied(step_id s) const;
  void copy_done(step_id s, master_actions& out);
  bool stays_alone(step_id sending, std::uint32_t sender, const task_result& before, master_actions& out);
  void end_copy(master_actions& out);
  void after_copy(const std::vector<step_id>& sent, std::uint32_t partition, master_actions& out);
  void offer_blocks(step_id sending, std::uint32_t sender, master_actions& out);
  bool same_as_before(step_id sending, std::uint32_t sender, const task_result& before, master_actions& out);
  bool compute_anew(step_id receiving, std::uint32_t p);
  void try_drop(step_id s, master_actions& out);
  void give_up_rounds(bool held_too, master_actions& out);
  void fail(failure f) {
    if (!failed_) failed_ = std::move(f);
  }

  void on(const host_ready& e, master_actions& out);
  void on(const host_lost& e, master_actions& out);
  void on(const task_done& e, master_actions& out);
  void on(const task_failed& e, master_actions& out);
  void on(const block_missing& e, master_actions& out);
  void on(const look_for_slow& e, master_actions& out);

  const options options_;
  std::vector<host> hosts_;
  std::map<step_id, known_step> steps_;
  step_id last_ = 0;
  std::optional<place> fails_at_;  // a task that failed; those before it go on
  std::optional<failure> failed_;
  bool rounds_lost_ = false;
  std::optional<copy_of_host> copy_;
  std::uint64_t now_ = 0;
  repairs repaired_;
};

}  // namespace query::cluster
