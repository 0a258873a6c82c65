#include "gpu_engine/out_of_core/out_of_core.hpp"

#include <algorithm>
#include <future>

#include <query/errors.hpp>

#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/out_of_core/block_input.hpp"
#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_engine/out_of_core/merge_runs.hpp"
#include "gpu_engine/out_of_core/sorted_keys.hpp"

namespace query::gpu_engine {

using detail::verb;

namespace {

std::vector<bool> fields_of(const planner::branch& b, bool whole) {
  return in_parts(b) ? std::vector<bool>() : fields_read(b, whole);
}

// Results on their way to host memory, one at a time, while the next block is computed.
template <class Result> class fetching {
 public:
  explicit fetching(std::vector<Result>& to) : to_(to) {}
  template <class Fetch> void start(Fetch fetch) {
    finish();
    under_way_ = std::async(std::launch::async, std::move(fetch));
  }
  void finish() {
    if (under_way_.valid()) to_.push_back(under_way_.get());
  }

 private:
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

class folding final : public block_consumer {
 public:
  folding(const planner::branch& last, detail::fold_kind kind, vertex_run& run) : last_(last), kind_(kind), run_(run) {}
  void take() override {
    detail::fold_state with = state;
    run_fold(last_, kind_, with, run_);
    state = with;
  }
  detail::fold_state state;

 private:
  const planner::branch& last_;
  detail::fold_kind kind_;
  vertex_run& run_;
};

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
  detail::table merged() && {
    fetching_.finish();
    if (runs_.size() == 1) return std::move(runs_.front().rows);
    return merge_runs(runs_, v_.node->row, words_, v_.limit, run_.context());
  }

 private:
  const planner::vertex& v_;
  vertex_run& run_;
  std::size_t words_ = 1;
  std::vector<sorted_run> runs_;
  fetching<sorted_run> fetching_{runs_};
};

class grouping_blocks final : public block_consumer {
 public:
  grouping_blocks(const planner::vertex& v, vertex_run& run) : v_(v), run_(run), groups_(v, run) {}
  void take() override { groups_.take(run_.input(v_.inputs.front(), {})); }
  block_results finish() {
    group_stream::result r = groups_.finish();
    return {std::move(r.kept), std::move(r.tables)};
  }

 private:
  const planner::vertex& v_;
  vertex_run& run_;
  group_stream groups_;
};

// Partitions of the rows: each has all rows of its groups.
class grouping_partitions final : public block_consumer {
 public:
  grouping_partitions(const planner::vertex& v, vertex_run& run) : v_(v), run_(run) {}
  void take() override { tables.push_back(run_group_by(v_, run_)->fetch(run_.context())); }
  std::vector<detail::table> tables;

 private:
  const planner::vertex& v_;
  vertex_run& run_;
};


block_results group_in_blocks(const planner::vertex& v, const planner::vertex& w, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  const std::vector<bool> fields = in_parts(b) ? std::vector<bool>() : group_fields(w);
  const std::vector<bool> read = in_parts(b) ? all_fields(source_row(w.inputs.front())) : fields;
  block_input input(b, fields, 8, run);
  if (group_stream::possible(w, planned_layout(w.inputs.front(), read))) {
    grouping_blocks blocks(w, run);
    input.each(blocks);
    return blocks.finish();
  }
  grouping_partitions partitions(w, run);
  input.each_partition(*v.node, v.node->functions.front(), partitions);
  return {nullptr, std::move(partitions.tables)};
}

// Blocks keep the order of row-wise work and of sorts, not that of groups and of pairs.
bool order_is_lost(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  if (v.node && v.node->what == verb::group_by && v.ordered) return true;
  if (std::none_of(b.stages.begin(), b.stages.end(), [](const planner::stage& s) { return s.join; })) return false;
  const auto asks = [](const planner::stage& s) {
    return (s.join && s.join->ordered) || std::any_of(s.nodes.begin(), s.nodes.end(), [](const detail::logical* n) { return n->ordered; });
  };
  return v.ordered || std::any_of(b.stages.begin(), b.stages.end(), asks);
}

}  // namespace

bool reads_stream(const planner::branch& b) { return b.source && b.source->open; }

bool exceeds_memory(const planner::branch& b, vertex_run& run) {
  if (run.gpu().block_rows()) return true;
  const runtime::run_context& context = run.context();
  const std::size_t most = run.gpu().memory().budget() / 2;
  std::uint64_t n = 0;
  if (b.table) {
    const auto it = context.tables.find(b.table);
    if (it == context.tables.end() || !it->second.here()) return false;
    n = it->second.rows.n;
  } else if (b.source->view) {
    detail::row_block rows;
    b.source->view(b.source->source.get(), rows);
    n = rows.n;
  } else if (is_counted(*b.source)) {
    n = b.source->count;
  } else {
    return reads_stream(b);
  }
  const ir::type* row = source_row(b);
  if (n * row->size <= most) return false;
  std::size_t a_row = 0;
  for (const input_column& c : choose_columns(row, in_parts(b) ? all_fields(row) : fields_read(b, false), false))
    a_row += device_layout(c.type).size;
  return n * a_row > most;
}

block_results run_in_blocks(const planner::vertex& v, vertex_run& run) {
  const planner::vertex w = behind_joins(v);
  const planner::branch &b = v.inputs.front(), &last = w.inputs.front();
  const bool sorts = v.node && v.node->what == verb::order_by;
  if (order_is_lost(v)) throw resource_error("gpu: memory: blocks do not keep the order that as_ordered() asks for");
  try {
    if (v.node && v.node->what == verb::group_by) return group_in_blocks(v, w, run);
  } catch (const not_generated& e) {  // row-wise work that makes strings runs before the groups, on rows that fit
    throw resource_error(std::string("gpu: memory: ") + e.what());
  }
  if (v.node && !sorts && v.node->what != verb::cached)
    throw resource_error("gpu: memory: " + v.node->label + " does not run in blocks");
  if (!same_on_device(v.row()))
    throw resource_error("gpu: memory: results whose rows own memory are not put together from blocks");
  if (!sorts && b.stages.empty() && b.prefilters.empty())
    throw resource_error("gpu: memory: the rows as they are do not fit the device");
  block_input input(b, fields_of(b, true), v.row()->size + (sorts ? 64 : 8), run);
  block_results results;
  if (sorts) {
    sorting sorted(w, run);
    input.each(sorted);
    results.tables.push_back(std::move(sorted).merged());
  } else {
    collecting rows(last, run);
    input.each(rows);
    results.tables = std::move(rows).tables();
  }
  return results;
}

void fold_in_blocks(const planner::branch& b, detail::fold_kind kind, detail::fold_state& state, vertex_run& run) {
  const planner::branch last = in_parts(b) ? last_part(b) : b;
  folding fold(last, kind, run);
  fold.state = state;
  block_input(b, fields_of(b, kind != detail::fold_kind::count), 8, run).each(fold);
  state = fold.state;
}

}  // namespace query::gpu_engine
