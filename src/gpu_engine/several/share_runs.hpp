// The shares of one vertex under way: a thread, a context and a vertex_run each.
//
//   share_runs runs(std::move(shares), v.captures, v.inputs.front(), context, gpus.threads());
//   runs.each([&](share_run& r) { states[r.place] = ...r.run()...; });     // r's device is current
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <query/detail/function_ref.hpp>

#include "gpu_engine/out_of_core/block_input.hpp"
#include "gpu_engine/several/share_threads.hpp"
#include "gpu_engine/several/shares.hpp"
#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

// One owner at a time: its thread, then the caller of share_runs::each.
class share_run {
 public:
  share_run(std::size_t place, share s, const std::vector<planner::binding>& captures, const planner::branch& b,
            runtime::run_context& whole);

  std::size_t place() const { return place_; }
  const share& rows() const { return share_; }
  vertex_run& run() { return *run_; }
  runtime::run_context& context() { return *context_; }

  // Is the share small enough to be worked on at once?
  bool fits(const std::vector<bool>& fields);
  // Gives the share's rows to the consumer, all at once: whole rows or columns, or a column a field. Throws out_of_memory.
  void feed_at_once(const std::vector<bool>& fields, bool by_field, block_consumer& consumer);
  // The same where they lie on the device, or where `at_once` says so and they fit; else in blocks.
  void feed(const std::vector<bool>& fields, std::size_t bytes_beside, bool at_once, block_consumer& consumer);

 private:
  friend class share_runs;
  void begin();                                        // with nothing left of an attempt before
  void move_to(const std::shared_ptr<gpu_session>& gpu);
  void once(const std::shared_ptr<const device_rows>& rows, block_consumer& consumer);

  const std::size_t place_;
  share share_;
  const std::vector<planner::binding>& captures_;
  const planner::branch& branch_;
  runtime::run_context& whole_;
  std::unique_ptr<runtime::run_context> context_;
  std::unique_ptr<vertex_run> run_;
  std::exception_ptr failure_;
};

class share_runs {
 public:
  share_runs(std::vector<share> shares, const std::vector<planner::binding>& captures, const planner::branch& b,
             runtime::run_context& whole, share_threads& threads);

  std::size_t size() const { return runs_.size(); }
  share_run& operator[](std::size_t i) { return *runs_[i]; }

  // Calls work(run) for every share, each in a thread of its own, with its device current. A share whose device failed or was
  // full is begun anew on one that did not; throws what the first share failed with for other reasons, or all.
  void each(function_ref<void(share_run&)> work, gpu_set& gpus);
  // The same without a second attempt, for what comes behind: throws what the first of them throws.
  void at_once(function_ref<void(share_run&)> work);

  const std::string& trouble() const { return trouble_; }  // which shares ran elsewhere, and why

 private:
  void attempt(function_ref<void(share_run&)> work, bool begins);

  share_threads& threads_;
  std::vector<std::unique_ptr<share_run>> runs_;
  std::string trouble_;
};

}  // namespace query::gpu_engine
