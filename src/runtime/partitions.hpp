// The partitions of a cluster graph (planner/cluster_graph.hpp), as the executor of the first one leads them: each runs its copy of the
// machine graph over its part of the sources, in this process or in another, with tables of its own. src/cluster runs them.
//
//   auto parts = make_partitions(graph, session, context, sent);   // the graph and the context are those of the first partition
//   executor first(graph, session, context, parts.get());
//   parts->leads(first);
//   first.run_vertices();
//   parts->fold(kind, state);                                      // or the first partition has the rows of the result
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/file_source.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/cluster.hpp"
#include "runtime/executor.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// With a process, rows of a loop that are not computed again by themselves.
struct rounds_lost {};

class partitions {
 public:
  virtual ~partitions() = default;
  virtual void leads(executor& first) = 0;                             // of a run that begins; others begin too
  virtual bool others_have(const planner::vertex& v) const = 0;        // a cached() one's rows: all but the first
  virtual void make_anew(const planner::vertex& v) = 0;                // what some of them may have is not to be found
  virtual void run(const planner::vertex& v) = 0;                      // of the first partition's graph, in all its partitions
  virtual void forget(const std::vector<planner::vertex*>& vs) = 0;    // their tables, but those of the first partition
  // A loop whose variable lies in its partitions. In begin_round to end_loop, rounds_lost is thrown if a process was lost with its part:
  // the loop goes on behind the round that was saved last, for which restart() gives the number; 0: with its first rows.
  virtual void begin_loop(const planner::vertex& v) = 0;
  virtual void next_round(const planner::vertex& v) = 0;               // its variable is what the body gave; the one before is known, too
  virtual void forget_previous() = 0;
  virtual void save(std::uint64_t round) = 0;                          // its variable, while the next rounds run, if that is worth it
  virtual std::uint64_t restart(const planner::vertex& v) = 0;
  virtual vertex_rows end_loop(const planner::vertex& v) = 0;          // its variable, of all partitions, in the first
  virtual std::optional<std::uint64_t> rows_of_result() const = 0;     // where all of it are tables as they are, in this process
  virtual void verify_result() = 0;
  virtual std::string repairs() const = 0;                             // what was lost and computed again in this run; "": nothing
  virtual void count_pieces() = 0;                                     // of all partitions, as the first one's
  virtual void fold(detail::fold_kind k, detail::fold_state& state) = 0;  // the result's rows, of all its partitions
  virtual std::vector<std::vector<data::written_file>> write(const data::folder_sink& to) = 0;  // the same rows: files of each partition
  // Before leads(). The rows of this gathering vertex, which the result alone reads, are handed on as they come: run() waits for none, and
  // next_rows() makes those that come next the vertex's table. It is false when there are no more.
  virtual void hand_on(const planner::vertex* v) = 0;
  virtual bool next_rows() = 0;
};

// sent, if not null: all but the first partition are in other processes. Defined by src/cluster.
std::unique_ptr<partitions> make_partitions(planner::machine_graph& first, session_state& session, run_context& context,
                                            std::shared_ptr<const cluster::prepared> sent);

inline void executor::run(const planner::vertex& v) {
  if (over_) over_->run(v);
  else run_here(v);
}

}  // namespace query::runtime
