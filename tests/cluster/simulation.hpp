// A cluster in one thread: the real master and the real queues of its processes, over a simulated network, clock and engine. A seed fixes
// everything: the plan, how long each thing takes, which processes are lost, cut off or late. What comes out is compared with the plan
// computed without any of it.
//
//   const outcome o = simulate({.seed = 7});
//   o.wrong is empty, or says what was; o.trace is the same for the same seed
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/container/task_queue.hpp"
#include "cluster/master/master.hpp"

namespace query::tests::simulated {

struct options {
  std::uint64_t seed = 1;
  bool faults = true;
  bool slow_process = false;   // the last partition's first one takes 50 times as long for everything
  bool copies = true;          // of slow tasks
  bool differs = false;        // a vertex that sends rows gives others each time
  std::uint64_t window = 400;  // bytes
};
struct outcome {
  std::string wrong;           // an invariant that did not hold
  std::uint64_t trace = 0;     // of all events and actions
  std::uint64_t events = 0, kills = 0, tasks_again = 0, restarts = 0, failures = 0;
  std::uint64_t copied = 0, copies_won = 0, ended_at = 0;
};
outcome simulate(const options& o);

using rows = std::vector<std::uint64_t>;

// What the leader does, in this order.
struct op {
  // The last ones are of a loop whose variable, a vertex, lies in partitions; end_loop takes it.
  enum class kind : std::uint8_t {
    run, exchange, hand_on, write, fold, take, release, begin_loop, next_round, forget_previous, save, end_loop
  } what = kind::run;
  enum class way : std::uint8_t { hash, gather, broadcast, range, spread } moves = way::hash;  // spread: by hash, but for heavy keys
  std::uint64_t vertex = 0;
  std::vector<std::uint64_t> reads;    // vertices
  bool from_leader = false;            // an exchange of what the leader made of the rows of the gathered vertex that it reads
};
struct plan {
  std::uint32_t partitions = 1;
  std::vector<op> ops;
  std::set<std::uint64_t> variables;   // vertices
  std::uint64_t fails_vertex = 0;      // a function that throws there, in these partitions; 0: none
  std::vector<std::uint32_t> fails_in;
  std::uint64_t differs_vertex = 0;    // whose rows come out another way when they are computed again; 0: none
  bool pulls_fail = false;             // some end with an error, as when there is no memory
};
plan random_plan(std::mt19937_64& random);

// What a task computes.
rows source_rows(std::uint64_t vertex, std::uint32_t partition);
rows computed(std::uint64_t vertex, const std::vector<const rows*>& reads);
rows of_leader(std::uint64_t vertex, std::uint64_t value);
rows differing(rows all, std::uint32_t attempt);  // the same number, or not
// told: of an exchange by range, where ranges begin; of one that spreads rows, how many the senders before have, and all.
std::vector<rows> buckets(op::way moves, const rows& all, std::uint32_t partitions, const rows& told);
std::vector<rows> pieces(const rows& all);  // of what is handed on in order; one at least
std::uint64_t sum(const rows& all);
std::vector<std::byte> bytes_of(const rows& all);  // in answers and arguments
rows rows_of(const std::vector<std::byte>& bytes);
// Of an exchange by range: how many rows of each partition are looked at, and where ranges begin.
std::uint64_t share_of(std::uint64_t rows);
rows begins_of_ranges(std::vector<rows> samples, std::uint32_t partitions);

// What has to come out.
struct expectation {
  std::uint64_t answer = 0;
  std::optional<std::pair<std::uint64_t, std::uint32_t>> fails;  // vertex, partition
};
expectation reference(const plan& p);

}  // namespace query::tests::simulated
