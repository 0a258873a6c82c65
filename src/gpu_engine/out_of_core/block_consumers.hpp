// What becomes of the blocks of an input: results on their way to the host, one state, sorted runs, a table of groups.
//
//   folding fold(last, kind, run);
//   block_input(b, fields, 8, run).each(fold);       // then fold.state
#pragma once

#include <future>

#include "gpu_engine/beside.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/out_of_core/block_input.hpp"
#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_engine/out_of_core/merge_runs.hpp"
#include "gpu_engine/out_of_core/sorted_keys.hpp"

namespace query::gpu_engine {

// Results on their way to host memory, one at a time, while the next block is computed.
template <class Result> class fetching {
 public:
  explicit fetching(std::vector<Result>& to) : to_(to) {}
  template <class Fetch> void start(Fetch fetch) {
    finish();
    under_way_ = beside(std::move(fetch));
  }
  // A lack of memory is this result's, not that of the block at hand: who reads that one again would go on without this one.
  void finish() {
    if (!under_way_.valid()) return;
    lost_ = true;
    try {
      to_.push_back(under_way_.get());
    } catch (const out_of_memory& e) {
      throw resource_error(e.what());
    }
    lost_ = false;
  }
  // After a failure: have all arrived?
  bool settle() noexcept {
    try {
      if (!lost_) finish();
    } catch (...) {  // the failure that is under way is the one to tell of
    }
    return !lost_;
  }

 private:
  bool lost_ = false;
  std::vector<Result>& to_;
  std::future<Result> under_way_;
};

// where, select, the pairs of joins.
class collecting final : public block_consumer {
 public:
  collecting(const planner::branch& last, vertex_run& run) : last_(last), run_(run) {}
  void take() override {
    std::shared_ptr<device_rows> rows = run_collect_before(last_, run_);
    fetching_.start([rows, &context = run_.context()] { return rows->fetch(context); });
  }
  void release() override { fetching_.finish(); }
  std::vector<detail::table> tables() && {
    fetching_.finish();
    return std::move(tables_);
  }

 private:
  const planner::branch& last_;
  vertex_run& run_;
  std::vector<detail::table> tables_;
  fetching<detail::table> fetching_{tables_};
};

// count, sum, min, max: one state.
class folding final : public block_consumer {
 public:
  folding(const planner::branch& last, detail::fold_kind kind, vertex_run& run) : last_(last), kind_(kind), run_(run) {}
  void take() override {
    detail::fold_state with = state;
    run_fold(last_, kind_, with, run_);
    state = with;
  }
  bool goes_on_elsewhere() const override { return true; }
  detail::fold_state state;

 private:
  const planner::branch& last_;
  detail::fold_kind kind_;
  vertex_run& run_;
};

// order_by: a sorted run of each block.
class sorting final : public block_consumer {
 public:
  sorting(const planner::vertex& v, vertex_run& run) : v_(v), run_(run) {}
  void take() override {
    const result_rows rows = run_order_by(v_, run_);
    auto keys = std::make_shared<sorted_keys>(run_sorted_keys(v_, *rows, run_));
    words_ = keys->words;
    fetching_.start([rows, keys, &run = run_] {
      runtime::run_context& context = run.context();
      sorted_run r;
      r.rows = rows->fetch(context);
      const std::size_t bytes = r.rows.n * keys->words * 8;
      r.keys = context.pool.allocate(std::max<std::size_t>(bytes, 1));
      const stream_lease s = run.gpu().lease();
      run.gpu().copies().download_plain(r.keys.data(), keys->memory.address(), bytes, *s, context.scheduler,
                                        context.cancel);
      return r;
    });
  }
  void release() override { fetching_.finish(); }
  bool goes_on_elsewhere() const override { return true; }
  bool settle() noexcept override { return fetching_.settle(); }
  std::vector<sorted_run> runs() && {
    fetching_.finish();
    return std::move(runs_);
  }
  std::size_t words() const { return words_; }  // of a key

 private:
  const planner::vertex& v_;
  vertex_run& run_;
  std::size_t words_ = 1;
  std::vector<sorted_run> runs_;
  fetching<sorted_run> fetching_{runs_};
};

// group_by: the table of groups that all blocks share.
class grouping_blocks final : public block_consumer {
 public:
  grouping_blocks(const planner::vertex& v, group_stream& groups, vertex_run& run) : v_(v), groups_(groups), run_(run) {}
  void take() override { groups_.take(run_.input(v_.inputs.front(), {})); }
  bool make_room() override { return groups_.make_room(); }

 private:
  const planner::vertex& v_;
  group_stream& groups_;
  vertex_run& run_;
};

// The rows of order_by from sorted runs in the order of their rows.
inline detail::table merged(const planner::vertex& v, std::vector<sorted_run> runs, std::size_t words, runtime::run_context& context) {
  if (runs.size() == 1) return std::move(runs.front().rows);
  return merge_runs(runs, v.node->row, words, v.limit, context);
}

}  // namespace query::gpu_engine
