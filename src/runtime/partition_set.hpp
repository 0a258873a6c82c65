// The partitions of a cluster graph (planner/cluster_graph.hpp) in this process: each runs its copy of the machine graph over its part of
// the sources, with tables of its own; what exchanges move between them goes through pages. Vertices run in lockstep: the executor of the
// first partition leads, loops included, and every vertex runs in all its partitions before the next does.
//
//   partition_set parts(graph, session, context);    // the graph and the context are those of the first partition
//   executor first(graph, session, context, &parts);
//   first.run_vertices();
//   parts.fold(kind, state);                          // or the first partition has the rows of the result
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planner/machine_graph.hpp"
#include "runtime/exchange_side.hpp"
#include "runtime/executor.hpp"
#include "runtime/row_pages.hpp"
#include "runtime/row_range.hpp"

namespace query::runtime {

class partition_set {
 public:
  // sent, if not null: all but the first partition are in other processes.
  partition_set(planner::machine_graph& first, session_state& session, run_context& context,
                std::shared_ptr<const cluster::prepared> sent = nullptr);
  partition_set(const partition_set&) = delete;
  partition_set& operator=(const partition_set&) = delete;

  void leads(executor& first);                     // of a run that begins; others begin too
  void run(const planner::vertex& v);              // of the first partition's graph, in all its partitions
  void forget(const planner::vertex& v);           // its tables, but that of the first partition
  std::optional<std::uint64_t> rows_of_result() const;        // where all of it are tables as they are
  void verify_result();
  void count_pieces();                             // of all partitions, as the first one's
  void fold(detail::fold_kind k, detail::fold_state& state);  // the result's rows, of all its partitions

 private:
  struct partition {
    planner::machine_graph* graph = nullptr;
    run_context* context = nullptr;
    std::unordered_map<const planner::vertex*, planner::vertex*> of{};  // the first partition's; itself not in its own
    std::unique_ptr<planner::machine_graph> own_graph{};
    std::unique_ptr<run_context> own_context{};
    std::unique_ptr<executor> own_executor{};
    executor* runs = nullptr;
    std::unique_ptr<exchange_side> exchanges{};
    std::vector<row_range> parts_of_sources{};
    const planner::vertex& mine(const planner::vertex& v) const { return of.empty() ? v : *of.at(&v); }
  };
  void divide_sources(partition& p, std::size_t number);
  std::size_t parts() const { return static_cast<std::size_t>(all_[0].graph->partitions); }
  std::size_t here(int partitions) const { return std::min(all_.size(), static_cast<std::size_t>(partitions)); }  // those in this process
  void progressed() const;

  // What each partition sends, in their order.
  using outbox = std::vector<std::vector<row_pages>>;
  void exchange(const planner::vertex& v);
  row_pages begins_of_ranges(const planner::vertex& v);
  outbox sent_by_all(const planner::vertex& v, std::size_t receivers, const row_pages& begins);
  void count_sent(const row_pages& pages) const;

  // Partitions in other processes. What a lost one had is computed again, by another process.
  void begin_others();
  std::unique_ptr<remote_partition> begun(std::size_t other);
  template <class Ask, class Here, class Answer> void each_other(Ask ask, Here here, Answer answer);
  std::vector<std::size_t> heal(std::exception_ptr why);
  void compute_again(const planner::vertex& v, std::size_t other);

  session_state* session_;
  std::vector<partition> all_;                             // in this process
  std::shared_ptr<const cluster::prepared> sent_;
  std::vector<std::unique_ptr<remote_partition>> others_;  // the rest, of a run
  std::vector<const planner::vertex*> there_;              // what they have computed or received and not forgotten, in this order
  std::unordered_map<const planner::vertex*, row_pages> begins_;  // of the exchanges by range among these
  std::vector<int> losses_;                                // of the processes of each, in this run
  bool can_compute_again_ = true;                          // all sources can be read twice
};

inline void executor::run(const planner::vertex& v) {
  if (over_) over_->run(v);
  else run_here(v);
}

}  // namespace query::runtime
