// What a session holds: its engines, threads, memory, and results that queries asked to keep.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <query/session.hpp>

#include "runtime/cluster.hpp"
#include "runtime/deadline_watch.hpp"
#include "runtime/local_engine.hpp"
#include "runtime/run_history.hpp"
#include "runtime/temp_file.hpp"

namespace query::runtime {

// Of rows that several partitions keep, each its own.
struct cached_part {
  std::uint32_t number = 0, of = 1;
  auto operator<=>(const cached_part&) const = default;
};

class session_state {
 public:
  explicit session_state(const session_options& options);

  session_options options;
  std::unique_ptr<local_engine> cpu;
  std::unique_ptr<runtime::scheduler> scheduler;
  buffer_pool pool;
  temp_space temp;  // outlives cached rows, as the pool does
  deadline_watch deadlines;
  // Queries run in so many partitions (planner/cluster_graph.hpp), on the CPU: of this process, or the first here and each other in a
  // process of the cluster's.
  int partitions = 1;
  std::unique_ptr<cluster> processes;  // null: there is this one
  std::atomic<std::uint64_t> sent_rows{0}, sent_bytes{0};  // by exchanges, so far
  // Rounds of loops whose variable lies in partitions that were saved for the loss of a process, and their bytes. The rounds since the last
  // one take so many times as long as saving one does; 0: each is saved.
  std::atomic<std::uint64_t> saved_rounds{0}, saved_bytes{0};
  double interval_of_saving = 20;
  std::uint64_t least_divided_file = std::uint64_t{4} << 20;  // bytes of a file that partitions read in parts
  std::uint64_t most_broadcast = std::uint64_t{8} << 20;  // bytes of the other side of a join that every partition gets
  std::uint64_t least_spread = std::uint64_t{1} << 16;    // rows that probe a join: of fewer, no key is heavy (runtime/heavy_keys.hpp)
  run_history history;
  std::vector<std::shared_ptr<engine>> engines;  // asked before the CPU engine, in this order

  // The engine of accelerated queries, made when one is planned; null where there is no GPU.
  engine* gpu() const;
  engine* gpu_if_made() const { return made_gpu_.load(std::memory_order_acquire); }  // null also where none was asked for yet
  const without_gpu& why_no_gpu() const;         // "" if there is one
  void take_gpu(std::shared_ptr<engine> e);      // instead of looking for one, before the first query: for tests
  engine* engine_named(std::string_view name) const;  // of those that vertices were placed on; null: the CPU engine's
  engine* gpu_to_ask() const;  // that on(engine::gpu) means: one that was added, or the session's own; null: there is none

  // .cached() results live as long as a query that names their node, or a copy of it: they are known by logical::kept_as. No word
  // behind cached() changes what it gives but as_ordered(), and that only of verbs whose order is free: rows in LINQ's order serve
  // every reader, others those alone that take any order.
  struct cached_rows {
    vertex_rows rows;
    bool in_order = false;
    std::string engine;  // that was last asked to keep them; it may have had no room
  };
  std::optional<cached_rows> find_cached(const detail::logical& n, bool in_order, cached_part p = {});
  // Held while a cached query is computed, so that others wait for it instead of computing it again.
  std::shared_ptr<std::mutex> computing(const detail::logical& n);
  void forget_dead();  // gives back what no query names any more
  void keep_cached(const detail::logical& n, cached_rows rows, cached_part p = {});
  void forget_parts(const detail::logical& n);  // which partitions keep
  // What this engine keeps is lost: who next wants rows that it alone kept computes them again.
  void forget_cached(const detail::logical& n, std::string_view engine);

 private:
  struct gpu_once {
    std::once_flag made;
    std::shared_ptr<engine> found;
    without_gpu none;
  };
  const gpu_once& the_gpu() const;
  mutable gpu_once gpu_;
  mutable std::atomic<engine*> made_gpu_{nullptr};
  struct kept {
    std::weak_ptr<const void> by;
    cached_rows rows;
  };
  // Lets go of what no query names any more, once in as many calls as there are entries: a plan may have thousands.
  void let_go();
  std::mutex lock_;
  std::map<std::pair<const void*, cached_part>, kept> cached_;
  std::unordered_map<const void*, std::weak_ptr<std::mutex>> computing_;
  std::size_t since_let_go_ = 0;
};

// The options of the standard session. Throws user_error for values that make no sense.
session_options options_from_environment();

}  // namespace query::runtime
