#include "gpu_engine/several/several.hpp"

#include <algorithm>

#include "gpu_engine/operators/made_texts.hpp"
#include "gpu_engine/out_of_core/block_consumers.hpp"
#include "gpu_engine/several/group_exchange.hpp"
#include "gpu_engine/several/results_in_order.hpp"
#include "gpu_engine/several/row_exchange.hpp"
#include "gpu_engine/several/share_runs.hpp"
#include "runtime/fold_states.hpp"

namespace query::gpu_engine {

using detail::verb;
using planner::branch;
using planner::stage;

namespace {

bool sorts(const planner::vertex& v) { return v.node && v.node->what == verb::order_by; }
bool groups(const planner::vertex& v) { return v.node && v.node->what == verb::group_by; }
bool caches(const planner::vertex& v) { return v.node && v.node->what == verb::cached; }

std::vector<bool> fields_of(const branch& b, bool whole) { return in_parts(b) ? fields_before_parts(b) : fields_read(b, whole); }
std::vector<bool> fields_of(const planner::vertex& v) {
  const branch& b = v.inputs.front();
  if (v.folds) return fields_of(b, *v.folds != detail::fold_kind::count);
  if (in_parts(b)) return fields_before_parts(b);
  if (caches(v)) return all_fields(source_row(b));
  return groups(v) ? group_fields(v) : fields_read(b, true);
}

// Joins of which each probe row gives its rows by itself.
bool joins_divide(const branch& b) {
  return std::all_of(b.stages.begin(), b.stages.end(), [](const stage& s) {
    if (!s.join) return true;
    if (s.join->join == detail::join_kind::inner) return true;
    return !s.build_left && (s.join->join == detail::join_kind::left || s.join->join == detail::join_kind::semi ||
                             s.join->join == detail::join_kind::anti);
  });
}
// Their build sides must fit beside the blocks. `first_exchanged`: each device gets a part of that of the first join.
bool builds_fit(const branch& b, bool first_exchanged, const gpu_set& gpus, const runtime::run_context& context) {
  constexpr std::size_t part_of_budget = 6, beside_row = 72;  // as block_input has it
  return std::all_of(b.stages.begin(), b.stages.end(), [&](const stage& s) {
    if (!s.build) return true;
    const auto it = context.tables.find(s.build);
    if (it == context.tables.end()) return false;
    const std::uint64_t all = it->second.here() ? it->second.rows.n : it->second.kept->size();
    const std::uint64_t n = first_exchanged && &s == &b.stages.front() ? all / gpus.size() + 1 : all;
    return n * (s.build->row()->size + beside_row) <= gpus.first()->memory().budget() / part_of_budget;
  });
}

// In order_by: what sorted runs are merged by (sorted_keys.cpp).
bool has_key_words(const ir::type* t) {
  if (ir::is_arithmetic(t->k)) return true;
  if (t->k == ir::kind::array || t->k == ir::kind::optional) return has_key_words(t->element);
  return t->k == ir::kind::record &&
         std::all_of(t->field_list.begin(), t->field_list.end(), [](const ir::field& f) { return has_key_words(f.of); });
}
bool keys_merge(const detail::logical& n) {
  kernel_source k;
  return std::all_of(n.functions.begin(), n.functions.end(), [&](const detail::user_function& f) {
    return has_key_words(f.result ? f.result : k.trace(n, f).root->type);
  });
}

// Rows behind one pass over a share, kept on its device.
class keeping final : public block_consumer {
 public:
  keeping(const branch& last, bool as_they_are, vertex_run& run) : last_(last), as_they_are_(as_they_are), run_(run) {}
  void take() override {
    kept = as_they_are_ ? std::const_pointer_cast<device_rows>(run_.input(last_, {})) : run_collect_before(last_, run_);
    run_.on().synchronize(run_.context().cancel);
  }
  std::shared_ptr<device_rows> kept;

 private:
  const branch& last_;
  const bool as_they_are_;
  vertex_run& run_;
};

block_results collect_shares(const planner::vertex& w, const std::vector<bool>& fields, share_runs& runs, gpu_set& gpus,
                             runtime::run_context& context) {
  const branch& last = w.inputs.front();
  const bool as_they_are = caches(w) && bare(last);
  std::vector<block_results> of(runs.size());
  runs.each([&](share_run& r) {
    block_results& mine = of[r.place()] = {};
    if (caches(w) || r.rows().there || r.fits(fields)) {
      try {
        keeping one(last, as_they_are, r.run());
        r.feed_at_once(fields, as_they_are, one);
        mine.kept = one.kept;
        return;
      } catch (const out_of_memory&) {
        r.context().cancel.check();
        if (caches(w)) throw;  // rows that do not stay are not worth it
      }
    }
    collecting rows(last, r.run());
    r.feed(fields, w.row()->size + 8, false, rows);
    mine.tables = std::move(rows).tables();
  }, gpus);
  return results_in_order(w.row(), std::move(of), context);
}

block_results sort_shares(const planner::vertex& w, const std::vector<bool>& fields, share_runs& runs, gpu_set& gpus,
                          runtime::run_context& context) {
  if (w.limit == ~0ull)
    if (auto ranges = sort_by_ranges(w, fields, runs, gpus, context)) return results_in_order(w.row(), std::move(*ranges), context);
  std::vector<std::vector<sorted_run>> of(runs.size());
  std::vector<std::size_t> words(runs.size(), 1);
  runs.each([&](share_run& r) {
    sorting sorted(w, r.run());
    r.feed(fields, w.row()->size + 64, true, sorted);
    words[r.place()] = sorted.words();
    of[r.place()] = std::move(sorted).runs();
  }, gpus);
  std::vector<sorted_run> all;
  for (auto& runs_of_share : of)
    for (sorted_run& r : runs_of_share) all.push_back(std::move(r));
  block_results results;
  results.tables.push_back(merged(w, std::move(all), *std::max_element(words.begin(), words.end()), context));
  return results;
}

block_results group_shares(const planner::vertex& w, const std::vector<bool>& fields, share_runs& runs, gpu_set& gpus,
                           runtime::run_context& context) {
  std::vector<std::unique_ptr<group_stream>> streams(runs.size());
  runs.each([&](share_run& r) {
    auto& mine = streams[r.place()];
    mine = nullptr;  // of an attempt before
    mine = std::make_unique<group_stream>(w, r.run());
    grouping_blocks blocks(w, *mine, r.run());
    // All rows at once are grouped as one device would; in blocks the table starts small and grows.
    const bool at_once = r.rows().there || r.fits(fields);
    if (at_once) mine->expect_one_block();
    r.feed(fields, 8, at_once, blocks);
    ready_to_exchange(*mine, runs.size());
  }, gpus);
  return exchanged_groups(w.node->row, streams, runs, context);
}

block_results fold_shares(const planner::vertex& w, const std::vector<bool>& fields, share_runs& runs, gpu_set& gpus) {
  const branch& last = w.inputs.front();
  std::vector<detail::fold_state> of(runs.size());
  runs.each([&](share_run& r) {
    folding fold(last, *w.folds, r.run());
    r.feed(fields, 8, false, fold);
    of[r.place()] = fold.state;
  }, gpus);
  return {nullptr, {runtime::table_of(std::move(of))}};
}

}  // namespace

const detail::logical* verb_of(const branch& b) {
  for (auto s = b.stages.rbegin(); s != b.stages.rend(); ++s) {
    if (!s->nodes.empty()) return s->nodes.back();
    if (s->join) return s->join;
  }
  return b.source ? b.source : b.table ? b.table->node : nullptr;
}

bool divides(const branch& b) {
  return joins_divide(b) && (!b.source || b.source->view);
}

bool divides(const planner::vertex& v) {
  if (v.folds) return divides(v.inputs.front());
  if (v.inputs.size() != 1 || !(!v.node || sorts(v) || groups(v) || caches(v))) return false;
  if (v.limit != ~0ull && !sorts(v)) return false;
  try {
    const branch& b = v.inputs.front();
    if (!divides(b) || order_is_lost(v) || !same_on_device(v.row())) return false;
    const planner::vertex w = behind_joins(v);
    const branch& last = w.inputs.front();
    if (groups(v)) {
      const std::vector<bool> read = in_parts(b) ? all_fields(source_row(last)) : group_fields(w);
      return group_stream::possible(w, planned_layout(last, read));
    }
    if (sorts(v)) return keys_merge(*v.node) && !made_texts::of(*v.node);
    return caches(v) || !bare(b);
  } catch (const not_generated&) {  // row-wise work that makes strings runs on its own, before groups
    return false;
  }
}

namespace {

// Rows to sort are exchanged, and few are sorted before that has begun. Of the first rows alone, each device gives few.
constexpr std::size_t fewest_bytes_to_sort = std::size_t{64} << 20;  // of a device
bool worth_sorting(const planner::vertex& v, std::uint64_t n, const std::vector<bool>& fields, const gpu_set& gpus) {
  if (!sorts(v) || v.limit != ~0ull || gpus.share_rows()) return true;
  return n * bytes_of_row(source_row(v.inputs.front()), fields, false) >= fewest_bytes_to_sort * gpus.size();
}
std::uint64_t rows_of(const std::vector<share>& shares) {
  const share& last = shares.back();
  return last.first + (last.there ? last.there->size() : last.rows.rows.n) - shares.front().first;
}

// Rows of a round that are worth sharing: one device repeats rounds without the host (round_replay.hpp), which takes part in all that
// several do.
constexpr std::size_t fewest_bytes_in_round = std::size_t{256} << 20;
bool worth_a_round(std::uint64_t n, std::size_t bytes_a_row, const gpu_set& gpus) {
  return gpus.share_rows() || n * bytes_a_row >= fewest_bytes_in_round * gpus.size();
}

bool caches_source(const branch& b) {
  return b.table && b.table->node && b.table->node->what == verb::cached && !b.table->inputs.empty();
}

// Of the rows that are known when the query is planned.
std::size_t devices_of(const branch& b, const std::vector<bool>& fields, const gpu_set& gpus) {
  const ir::type* row = source_row(b);
  detail::row_block rows;
  if (b.source && b.source->view) b.source->view(b.source->source.get(), rows);
  else return caches_source(b) ? planned_devices(*b.table, gpus) : 1;
  return devices_for(rows.n, bytes_of_row(row, fields, rows.columns != nullptr), gpus.size(), gpus.share_rows());
}
bool worth_a_planned_round(const branch& b, const std::vector<bool>& fields, const gpu_set& gpus) {
  const branch& from = caches_source(b) ? b.table->inputs.front() : b;
  if (!from.source || !from.source->view) return gpus.share_rows() != 0;
  detail::row_block rows;
  from.source->view(from.source->source.get(), rows);
  return worth_a_round(rows.n, bytes_of_row(source_row(b), fields, true), gpus);
}

}  // namespace

std::size_t planned_devices(const planner::vertex& v, const gpu_set& gpus) try {
  if (gpus.size() < 2 || !divides(v)) return 1;
  const branch& b = v.inputs.front();
  if (!v.slots.empty() && !worth_a_planned_round(b, fields_of(v), gpus)) return 1;
  if (sorts(v) && v.limit == ~0ull) {
    detail::row_block rows;
    if (b.source && b.source->view) b.source->view(b.source->source.get(), rows);
    if (!worth_sorting(v, rows.n, fields_of(v), gpus)) return 1;
  }
  return devices_of(b, fields_of(v), gpus);
} catch (const not_generated&) {  // it runs on none: the engine says why
  return 1;
}

namespace {

std::string why_not_divided(const branch& b) {
  if (b.source && b.source->what == verb::placeholder) return "a loop's variable lies on one GPU";
  if (b.source && !b.source->view) return "rows that no container holds go to one GPU";
  if (!joins_divide(b)) return "this kind of join runs on one GPU";
  return {};
}
std::string why_not_divided(const planner::vertex& v) {
  if (v.inputs.size() != 1 || (v.node && !sorts(v) && !groups(v) && !caches(v)))
    return (v.node ? v.node->label : std::string("the vertex")) + " runs on one GPU";
  if (v.limit != ~0ull && !sorts(v)) return "its first rows come of one GPU";
  if (std::string why = why_not_divided(v.inputs.front()); !why.empty() || v.folds) return why;
  if (order_is_lost(v)) return "the order that as_ordered() asks for is that of one GPU";
  if (!same_on_device(v.row())) return "results that hold strings or lists stay on one GPU";
  try {
    if (groups(v)) (void)group_fields(behind_joins(v));
  } catch (const not_generated&) {
    return "strings that its rows are made of are made on one GPU";
  }
  if (groups(v)) return "these aggregates or keys are not put together from several GPUs";
  if (sorts(v)) return "keys that hold strings are not merged";
  return "rows as they are stay where they lie";
}
// Of what has a form over shares.
std::string why_few(const branch& b) {
  if (b.table) return "or on those where its rows lie in parts";
  return "its rows are few";
}

}  // namespace

std::string why_on_one(const planner::vertex& v, const gpu_set& gpus) try {
  if (gpus.size() < 2) return {};
  if (!divides(v)) return "on one GPU: " + why_not_divided(v);
  if (!v.slots.empty() && !worth_a_planned_round(v.inputs.front(), fields_of(v), gpus)) return "on one GPU: a round reads few rows";
  if (sorts(v) && v.limit == ~0ull && planned_devices(v, gpus) < 2 && !v.inputs.front().table)
    return "on one GPU: few rows are sorted there";
  return "on one GPU" + std::string(v.inputs.front().table ? ", " : ": ") + why_few(v.inputs.front());
} catch (const not_generated&) {
  return {};
}

bool shares_rounds(const planner::vertex& v, gpu_set& gpus, const runtime::run_context& context) try {
  if (gpus.size() < 2 || v.inputs.size() != 1) return false;
  const branch& b = v.inputs.front();
  std::uint64_t n = 0;
  if (b.table) {
    const auto it = context.tables.find(b.table);
    const auto parted = it == context.tables.end() ? nullptr : std::dynamic_pointer_cast<parted_rows>(it->second.kept);
    if (!parted) return false;
    n = parted->size();
  } else if (b.source && b.source->view) {
    detail::row_block rows;
    b.source->view(b.source->source.get(), rows);
    n = rows.n;
  }
  return divides(v) && worth_a_round(n, bytes_of_row(source_row(b), fields_of(v), true), gpus);
} catch (const not_generated&) {
  return false;
}

std::optional<several_results> run_on_several(const planner::vertex& v, gpu_set& gpus, runtime::run_context& context) {
  if (gpus.size() < 2 || round_recording::here()) return std::nullopt;
  if (context.loops ? !shares_rounds(v, gpus, context) : !divides(v)) return std::nullopt;
  const branch& b = v.inputs.front();
  const std::vector<bool> fields = fields_of(v);
  std::vector<share> shares =
      context.loops && b.source ? cut_for_rounds(b, fields, gpus, context) : cut(b, fields, gpus, context);
  if (shares.size() < 2 || !worth_sorting(v, rows_of(shares), fields, gpus)) return std::nullopt;
  const bool exchanges = v.captures.empty() && exchanges_join(b, shares, gpus, context);
  if (!builds_fit(b, exchanges, gpus, context)) return std::nullopt;
  if (exchanges) shares = exchanged_for_join(b, std::move(shares), gpus, context);
  const planner::vertex w = behind_joins(v);
  share_runs runs(std::move(shares), v.captures, b, context, gpus.threads());
  several_results r;
  if (v.folds) r.results = fold_shares(w, fields, runs, gpus);
  else if (sorts(v)) r.results = sort_shares(w, fields, runs, gpus, context);
  else if (groups(v)) r.results = group_shares(w, fields, runs, gpus, context);
  else r.results = collect_shares(w, fields, runs, gpus, context);
  r.compiled = runs[0].run().compiled();
  gpus.note(verb_of(v), runs.trouble());
  return r;
}

}  // namespace query::gpu_engine
