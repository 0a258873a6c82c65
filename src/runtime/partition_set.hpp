// The partitions of a cluster graph (planner/cluster_graph.hpp) in this process: each runs its copy of the machine graph over its part of
// the sources, with tables of its own; what exchanges move between them goes through pages. Vertices run in lockstep: the executor of the
// first partition leads, loops included, and every vertex runs in all its partitions before the next does.
//
//   partition_set parts(graph, session, context);    // the graph and the context are those of the first partition
//   executor first(graph, session, context, &parts);
//   first.run_vertices();
//   parts.fold(kind, state);                          // or the first partition has the rows of the result
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planner/machine_graph.hpp"
#include "runtime/executor.hpp"
#include "runtime/row_pages.hpp"
#include "runtime/row_range.hpp"

namespace query::runtime {

class partition_set {
 public:
  partition_set(planner::machine_graph& first, session_state& session, run_context& context);
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
    std::unique_ptr<executor> runs{};
    std::vector<row_range> parts_of_sources{};
    const planner::vertex& mine(const planner::vertex& v) const { return of.empty() ? v : *of.at(&v); }
  };
  void divide_sources(partition& p, std::size_t number);
  void exchange(const planner::vertex& v);
  void count_sent(const row_pages& pages);
  struct pages_to {
    row_pages pages;
    std::size_t first = 0, end = 0;  // of the receivers
  };
  using outbox = std::vector<pages_to>;
  void send(const planner::vertex& v, std::size_t p, std::size_t receivers, const row_pages& begins, outbox& sent);
  row_pages begins_of_ranges(const planner::vertex& v, std::size_t senders);
  row_pages taken_apart(const detail::table& rows, run_context& context);
  row_pages taken_apart(const detail::table& rows, std::size_t first, std::size_t end, run_context& context);
  executor& runs(std::size_t p) { return p ? *all_[p].runs : *first_; }

  session_state* session_;
  executor* first_ = nullptr;
  std::vector<partition> all_;
};

inline void executor::run(const planner::vertex& v) {
  if (over_) over_->run(v);
  else run_here(v);
}

}  // namespace query::runtime
