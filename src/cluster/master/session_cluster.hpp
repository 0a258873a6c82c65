// The cluster of a session: the processes that a backend starts for it, which live as long as the session, and what its queries need there.
// The first partition of each query is in the session's own process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cluster/backends/backend.hpp"
#include "cluster/blocks/block_server.hpp"
#include "cluster/blocks/peer_connections.hpp"
#include "cluster/local_process.hpp"
#include "cluster/master/cached_parts.hpp"
#include "cluster/messages.hpp"
#include "cluster/program.hpp"
#include "cluster/sent_plan.hpp"
#include "cluster/transport/handshake.hpp"
#include "runtime/cluster.hpp"

namespace query::cluster {

struct prepared_plan final : runtime::cluster::prepared {
  std::vector<program::module_name> modules;  // as places in the plan number them
  sent_plan plan;
};

class session_cluster final : public runtime::cluster {
 public:
  explicit session_cluster(const session_options& options);

  std::string name() const override { return backend_->name(); }
  int partitions() const override { return count_; }
  int threads() const override { return first_.options.threads; }
  std::string transport() const override;
  bool can_travel(const ir::type& row) const override;
  std::shared_ptr<const prepared> prepare(const planner::machine_graph& g, const planner::column_options& forms,
                                          const planner::function_set& by_expression) const override;

  // The process of a partition, from 1 on; in the place of one that was lost, another. Throws user_error, cluster_error, cancelled. It may
  // take long to start: other queries wait only if they need the same one.
  std::shared_ptr<local_process> living(std::size_t partition, const runtime::cancel_flag& cancel);
  block_server& blocks();  // of this process
  peer_connections& connections() { return connections_; }
  std::uint64_t next_query() { return ++queries_; }
  cached_parts& cached() const { return cached_; }
  // Milliseconds more than twice the median of its siblings: a task that takes longer is copied; 0: never.
  std::uint64_t slow_after() const { return slow_after_; }
  void copy_slow_tasks_after(std::uint64_t milliseconds) { slow_after_ = milliseconds; }
  // Has the process of the partition its rows? `by`: it is this one.
  bool keeps_cached(const detail::logical& n, std::size_t partition, std::shared_ptr<local_process> by = nullptr) const;

 private:
  const std::unique_ptr<backends::backend> backend_;
  const int count_;
  const transport::session_token token_;
  hello first_;
  std::atomic<std::uint64_t> queries_{0}, slow_after_{2000};
  mutable cached_parts cached_;
  mutable std::mutex lock_;
  std::vector<std::shared_ptr<local_process>> processes_;  // by their partitions; the first is this one, and null
  std::set<std::size_t> starting_;                         // partitions whose process a query starts now
  std::condition_variable started_;
  std::unique_ptr<block_server> blocks_;
  peer_connections connections_;
};

}  // namespace query::cluster
