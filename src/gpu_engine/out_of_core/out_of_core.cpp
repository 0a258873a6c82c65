#include "gpu_engine/out_of_core/out_of_core.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/operators/aggregate_blocks.hpp"
#include "gpu_engine/out_of_core/block_consumers.hpp"
#include "gpu_engine/out_of_core/parted_rows.hpp"
#include "gpu_engine/out_of_core/state_stream.hpp"
#include "runtime/fold_states.hpp"
#include "runtime/part_done.hpp"

namespace query::gpu_engine {

using detail::verb;

namespace {

std::vector<bool> fields_of(const planner::branch& b, bool whole) {
  return in_parts(b) ? std::vector<bool>() : fields_read(b, whole);
}

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

// States of the user's own aggregates, block after block.
class state_blocks final : public block_consumer {
 public:
  state_blocks(const planner::vertex& v, vertex_run& run, std::size_t bytes_beside)
      : v_(v), run_(run), bytes_beside_(bytes_beside), groups_(v, run) {}
  void take() override { groups_.take(rows_before_groups(v_, run_)); }
  bool make_room() override { return groups_.make_room(); }
  std::size_t bytes_at_work(std::size_t rows) const override { return state_stream::bytes_at_work(rows, bytes_beside_); }
  block_results result() { return groups_.finish(); }

 private:
  const planner::vertex& v_;
  vertex_run& run_;
  std::size_t bytes_beside_;
  state_stream groups_;
};

block_results states_in_blocks(const planner::vertex& v, const planner::vertex& w, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  const std::size_t beside = state_stream::bytes_beside(w);
  state_blocks states(w, run, beside);
  block_input(b, fields_of_blocks(b, group_fields(w)), beside, run).each(states);
  return states.result();
}

block_results group_in_blocks(const planner::vertex& v, const planner::vertex& w, vertex_run& run) {
  if (state_stream::possible(w)) return states_in_blocks(v, w, run);
  const planner::branch& b = v.inputs.front();
  const std::vector<bool> fields = in_parts(b) ? std::vector<bool>() : group_fields(w);
  const std::vector<bool> read = in_parts(b) ? all_fields(source_row(w.inputs.front())) : fields;
  block_input input(b, fields, 8, run);
  if (group_stream::possible(w, planned_layout(w.inputs.front(), read))) {
    group_stream groups(w, run);
    grouping_blocks blocks(w, groups, run);
    input.may_compute_rows();
    input.each(blocks);
    group_stream::result r = groups.finish();
    return {std::move(r.kept), std::move(r.tables)};
  }
  grouping_partitions partitions(w, run);
  input.each_partition(*v.node, v.node->functions.front(), partitions);
  return {nullptr, std::move(partitions.tables)};
}

// One group of all rows.
class aggregating_blocks final : public block_consumer {
 public:
  // `before`: with the row-wise work that makes strings, which the aggregates read as rows.
  aggregating_blocks(const planner::vertex& before, const planner::vertex& v, vertex_run& run)
      : before_(before), v_(v), run_(run), in_order_(wants_groups_in_order(v)), all_(v, run) {}
  void take() override {
    if (in_order_) return all_.take(rows_before_groups(v_, run_));
    (void)run_text_making(before_.inputs.front(), run_);
    all_.take(run_.input(v_.inputs.front(), group_fields(v_)));
  }
  std::size_t bytes_at_work(std::size_t rows) const override {
    return aggregate_blocks::bytes_at_work(v_, rows) + rows * device_layout(v_.inputs.front().row).size;
  }
  block_results result() { return {all_.finish(), {}}; }

 private:
  const planner::vertex &before_, &v_;
  vertex_run& run_;
  const bool in_order_;
  aggregate_blocks all_;
};

block_results aggregate_in_blocks(const planner::vertex& v, const planner::vertex& w, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  planner::vertex after = w;
  const bool in_order = wants_groups_in_order(w);
  if (!in_order) after.inputs.front() = plan_text_making(w.inputs.front());
  if (const std::string why = aggregate_blocks::why_not(after); !why.empty())
    throw resource_error("gpu: memory: " + v.node->label + " of all rows " + why);
  aggregating_blocks all(w, after, run);
  const bool as_they_lie = bare(b) || (!in_order && !in_parts(b));
  block_input(b, as_they_lie ? group_fields(w) : fields_of_blocks(b, {}), 16, run).each(all);
  return all.result();
}

// f reads the input. What it has done counts where it fails and left the rest to others.
template <class F, class Part> void or_in_part(F f, const block_input& input, Part part) {
  try {
    f();
  } catch (const resource_error& e) {
    if (input.left_the_rest()) part(e.what());
    throw;
  } catch (const internal_error& e) {  // a launch or a copy that failed
    if (input.left_the_rest()) part(e.what());
    throw;
  }
}

// Rows come in the order of partitions, or hold what is not put together from blocks.
void check_whole_inputs(const planner::vertex& v) {
  const bool sets = v.node->what != verb::join && v.node->what != verb::group_join && v.node->what != verb::cross_join;
  if (!same_on_device(v.row())) throw resource_error("gpu: memory: results whose rows own memory are not put together from blocks");
  if (sets && (v.ordered || v.node->ordered))
    throw resource_error("gpu: memory: blocks do not keep the order that as_ordered() asks for");
}

}  // namespace

bool has_blocks(const planner::vertex& v) {
  switch (v.node ? v.node->what : verb::select) {
    case verb::join:
    case verb::group_join:
    case verb::cross_join:
    case verb::distinct:
    case verb::union_with:
    case verb::intersect:
    case verb::except:
      return true;
    default:
      return false;
  }
}

bool order_is_lost(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  if (v.node && v.node->what == verb::group_by && v.ordered) return true;
  if (std::none_of(b.stages.begin(), b.stages.end(), [](const planner::stage& s) { return s.join; })) return false;
  const auto asks = [](const planner::stage& s) {
    return (s.join && s.join->ordered) || std::any_of(s.nodes.begin(), s.nodes.end(), [](const detail::logical* n) { return n->ordered; });
  };
  return v.ordered || std::any_of(b.stages.begin(), b.stages.end(), asks);
}

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
  for (const input_column& c : choose_columns(row, in_parts(b) ? fields_before_parts(b) : fields_read(b, false), false))
    a_row += device_layout(c.type).size;
  return n * a_row > most;
}

namespace {

block_results folded_in_blocks(const planner::vertex& v, vertex_run& run) {
  const planner::vertex w = behind_joins(v);
  folding fold(w.inputs.front(), *v.folds, run);
  const planner::branch& b = v.inputs.front();
  block_input input(b, fields_of(b, *v.folds != detail::fold_kind::count), 8, run);
  const auto folded = [&] { return std::vector{runtime::table_of({fold.state})}; };
  or_in_part([&] { input.each(fold); }, input, [&](const std::string& why) { throw runtime::done_in_part(why, folded()); });
  return {nullptr, folded()};
}

block_results in_blocks(const planner::vertex& v, vertex_run& run) {
  if (v.folds) return folded_in_blocks(v, run);
  if (has_blocks(v)) {
    if (order_is_lost(v)) throw resource_error("gpu: memory: blocks do not keep the order that as_ordered() asks for");
    check_whole_inputs(v);
    if (v.node->what == verb::cross_join) return run_cross_join_in_blocks(v, run);
    if (v.node->what == verb::join || v.node->what == verb::group_join) return run_keyed_join_in_blocks(v, run);
    return run_sets_in_blocks(v, run);
  }
  const planner::vertex w = behind_joins(v);
  const planner::branch &b = v.inputs.front(), &last = w.inputs.front();
  const bool sorts = v.node && v.node->what == verb::order_by;
  if (order_is_lost(v)) throw resource_error("gpu: memory: blocks do not keep the order that as_ordered() asks for");
  if (v.node && v.node->what == verb::group_by) return group_in_blocks(v, w, run);
  if (v.node && v.node->what == verb::aggregate) return aggregate_in_blocks(v, w, run);
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
    or_in_part([&] { input.each(sorted); }, input, [&](const std::string& why) {
      std::vector<detail::table> tables;
      for (sorted_run& r : std::move(sorted).runs()) tables.push_back(std::move(r.rows));
      throw runtime::done_in_part(why, std::move(tables));
    });
    results.tables.push_back(merged(w, std::move(sorted).runs(), sorted.words(), run.context()));
  } else {
    collecting rows(last, run);
    input.each(rows);
    results.tables = std::move(rows).tables();
  }
  return results;
}

// Blocks need forms of their own of what a vertex does, of which some have no code: planning looks at the whole alone.
template <class F> auto or_too_large(F f) {
  try {
    return f();
  } catch (const not_generated& e) {
    throw resource_error(std::string("gpu: memory: ") + e.what());
  }
}

}  // namespace

block_results run_in_blocks(const planner::vertex& v, vertex_run& run) {
  return or_too_large([&] { return in_blocks(v, run); });
}

}  // namespace query::gpu_engine
