#include "gpu_engine/several/share_runs.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/device_lost.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/several/peer_copy.hpp"
#include "gpu_engine/table_rows.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

namespace {

// Why a device could not do its share; nothing for what another device would meet as well.
std::string trouble_of(const std::exception_ptr& failure, bool& lost) {
  try {
    std::rethrow_exception(failure);
  } catch (const device_lost& e) {
    lost = true;
    return e.what();
  } catch (const resource_error& e) {
    return e.what();
  } catch (const internal_error& e) {  // a launch that failed
    return e.what();
  } catch (...) {
    return {};
  }
}

// The same run, with tables of its own: what a device brings over is not the others'.
std::unique_ptr<runtime::run_context> part_of(const runtime::run_context& c) {
  return std::unique_ptr<runtime::run_context>(new runtime::run_context{.scheduler = c.scheduler,
                                                                        .pool = c.pool,
                                                                        .cancel = c.cancel,
                                                                        .progress = c.progress,
                                                                        .verify = c.verify,
                                                                        .local = c.local,
                                                                        .tables = c.tables,
                                                                        .variables = c.variables,
                                                                        .pieces = c.pieces,
                                                                        .temp = c.temp});
}

}  // namespace

share_run::share_run(std::size_t place, share s, const std::vector<planner::binding>& captures, const planner::branch& b,
                     runtime::run_context& whole)
    : place_(place), share_(std::move(s)), captures_(captures), branch_(b), whole_(whole) {}

void share_run::begin() {
  run_.reset();
  context_ = part_of(whole_);
  for (const auto& [v, rows] : share_.instead)
    context_->tables[v] = runtime::vertex_rows(std::static_pointer_cast<runtime::kept_rows>(rows));
  // The rows of the branch itself are the share.
  planner::branch others = branch_;
  others.table = nullptr;
  others.source = nullptr;
  bring_inputs(share_.gpu, others, *context_);
  bring_captures(share_.gpu, captures_, *context_);
  run_ = std::make_unique<vertex_run>(share_.gpu, captures_, *context_);
}

void share_run::move_to(const std::shared_ptr<gpu_session>& gpu) {
  failure_ = nullptr;
  if (share_.there) {
    const scoped_context here(gpu->on());
    share_.there = brought_together({share_.there}, gpu, whole_);
    if (!share_.there) throw resource_error("gpu: rows of a device that failed are not to be had");
  }
  share_.gpu = gpu;
}

bool share_run::fits(const std::vector<bool>& fields) {
  if (share_.gpu->block_rows()) return share_.rows.rows.n <= 2 * share_.gpu->block_rows();
  return share_.rows.rows.n * bytes_of_row(source_row(branch_), fields, share_.rows.rows.columns != nullptr) <=
         share_.gpu->memory().budget() / 2;
}

void share_run::once(const std::shared_ptr<const device_rows>& rows, block_consumer& consumer) {
  const struct supplying {
    vertex_run& run;
    ~supplying() { run.supply(nullptr); }
  } until_end{*run_};
  run_->reset_status();
  run_->supply(rows, share_.first);
  run_joins(branch_, *run_);
  consumer.take();
}

void share_run::feed_at_once(const std::vector<bool>& fields, bool by_field, block_consumer& consumer) {
  if (share_.there) {
    once(share_.there, consumer);
    return;
  }
  const ir::type* row = source_row(branch_);
  const auto columns = by_field ? field_columns(row) : choose_columns(row, fields, share_.rows.rows.columns != nullptr);
  once(upload_rows(share_.gpu, share_.rows.rows, row, columns, run_->on(), *context_), consumer);
}

void share_run::feed(const std::vector<bool>& fields, std::size_t bytes_beside, bool at_once, block_consumer& consumer) {
  try {
    if (share_.there || (at_once && fits(fields))) {
      feed_at_once(fields, false, consumer);
      return;
    }
  } catch (const out_of_memory&) {
    context_->cancel.check();
    consumer.release();
  }
  if (share_.there) {
    const detail::table t = share_.there->fetch(*context_);
    share_.rows = {rows_of(t), t.owner};
    share_.rows.rows.first = share_.first;
    share_.there = nullptr;
  }
  block_input(branch_, fields, bytes_beside, *run_, &share_.rows).each(consumer);
}

share_runs::share_runs(std::vector<share> shares, const std::vector<planner::binding>& captures, const planner::branch& b,
                       runtime::run_context& whole, share_threads& threads)
    : threads_(threads) {
  for (share& s : shares) runs_.push_back(std::make_unique<share_run>(runs_.size(), std::move(s), captures, b, whole));
}

void share_runs::attempt(function_ref<void(share_run&)> work, bool begins) {
  const bool demanded = waits_for_kernels::here();
  const auto run = [&](share_run& r) {
    try {
      const scoped_context here(r.rows().gpu->on());
      const waits_for_kernels waits(demanded);
      if (begins) r.begin();
      work(r);
      r.failure_ = nullptr;
    } catch (...) {
      r.failure_ = std::current_exception();
    }
  };
  threads_.run(runs_.size(), [&](std::size_t i) { run(*runs_[i]); });
}

void share_runs::each(function_ref<void(share_run&)> work, gpu_set& gpus) {
  attempt(work, true);
  std::vector<share_run*> failed;
  const share_run* healthy = nullptr;
  for (const auto& r : runs_) {
    if (!r->failure_) {
      healthy = healthy ? healthy : r.get();
      continue;
    }
    bool lost = false;
    const std::string why = trouble_of(r->failure_, lost);
    if (why.empty()) std::rethrow_exception(r->failure_);
    if (lost) gpus.leave_out(*r->rows().gpu);
    trouble_ += (trouble_.empty() ? "" : "; ") + number_of(*r->rows().gpu) + " failed: " + why;
    failed.push_back(r.get());
  }
  if (failed.empty()) return;
  if (!healthy) std::rethrow_exception(failed.front()->failure_);
  const std::shared_ptr<gpu_session> gpu = healthy->rows().gpu;
  trouble_ += "; its share ran on " + number_of(*gpu);
  for (share_run* r : failed) {
    const scoped_context here(gpu->on());
    r->move_to(gpu);
    r->begin();
    work(*r);
  }
}

void share_runs::at_once(function_ref<void(share_run&)> work) {
  attempt(work, false);
  for (const auto& r : runs_)
    if (r->failure_) std::rethrow_exception(r->failure_);
}

}  // namespace query::gpu_engine
