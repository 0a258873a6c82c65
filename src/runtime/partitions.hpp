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

#include "planner/machine_graph.hpp"
#include "runtime/cluster.hpp"
#include "runtime/executor.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

class partitions {
 public:
  virtual ~partitions() = default;
  virtual void leads(executor& first) = 0;                             // of a run that begins; others begin too
  virtual bool others_have(const planner::vertex& v) const = 0;        // a cached() one's rows: all but the first
  virtual void make_anew(const planner::vertex& v) = 0;                // what some of them may have is not to be found
  virtual void run(const planner::vertex& v) = 0;                      // of the first partition's graph, in all its partitions
  virtual void forget(const std::vector<planner::vertex*>& vs) = 0;    // their tables, but those of the first partition
  virtual std::optional<std::uint64_t> rows_of_result() const = 0;     // where all of it are tables as they are, in this process
  virtual void verify_result() = 0;
  virtual std::string repairs() const = 0;                             // what was lost and computed again in this run; "": nothing
  virtual void count_pieces() = 0;                                     // of all partitions, as the first one's
  virtual void fold(detail::fold_kind k, detail::fold_state& state) = 0;  // the result's rows, of all its partitions
};

// sent, if not null: all but the first partition are in other processes. Defined by src/cluster.
std::unique_ptr<partitions> make_partitions(planner::machine_graph& first, session_state& session, run_context& context,
                                            std::shared_ptr<const cluster::prepared> sent);

inline void executor::run(const planner::vertex& v) {
  if (over_) over_->run(v);
  else run_here(v);
}

}  // namespace query::runtime
