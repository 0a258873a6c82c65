#include "gpu_engine/gpu_engine.hpp"

#include <algorithm>
#include <optional>

#include <query/errors.hpp>

#include "gpu_engine/captured_rows.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/operators/aggregate_blocks.hpp"
#include "gpu_engine/operators/kept_build.hpp"
#include "gpu_engine/operators/made_texts.hpp"
#include "gpu_engine/operators/nearest.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/operators/whole_inputs.hpp"
#include "gpu_engine/out_of_core/out_of_core.hpp"
#include "gpu_engine/round_replay.hpp"
#include "gpu_engine/several/several.hpp"
#include "planner/orders.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/fold_states.hpp"
#include "runtime/placement/vertex_work.hpp"

namespace query::gpu_engine {

using detail::verb;

namespace {

// The rows of an input, where they are known before anything runs.
std::optional<std::uint64_t> known_rows(const planner::branch& b) {
  if (b.source && is_counted(*b.source)) return b.source->count;
  if (!b.source || !b.source->view) return std::nullopt;
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  return rows.n;
}

// Does the vertex give nothing before it has seen all of its input, and has a form in blocks?
bool needs_all_rows(const planner::vertex& v) {
  if (!v.node) return v.folds.has_value();
  if (v.node->what != verb::aggregate) return v.node->what == verb::group_by || v.node->what == verb::order_by;
  try {
    return aggregate_blocks::why_not(v).empty();
  } catch (const not_generated&) {
    return false;
  }
}
// The source makes its rows on the device. Longer ones are read piece by piece: who reads them may stop early.
constexpr std::uint64_t most_counted = std::uint64_t{1} << 28;
bool made_here(const detail::logical& source) { return is_counted(source) && source.count <= most_counted; }

// What might never end stays where it can be read piece by piece, unless it has to end anyway.
void check_source(const planner::branch& b, bool all_rows) {
  if (b.table && !needs_all_rows(*b.table))
    for (const planner::branch& input : b.table->inputs) check_source(input, false);
  if (!b.source || b.source->view || b.source->what == verb::placeholder || made_here(*b.source)) return;
  if (!all_rows || !reads_stream(b)) throw not_generated("its rows come from a stream");
}

// Why vertices of a verb always run on the CPU.
std::string no_form(verb what) {
  if (what == verb::source_file) return "files are read by the CPU";
  return std::string(detail::name_of(what)) + " has no form on the GPU yet";
}

// Under which address it was planned: a share of a divided vertex was planned as a whole.
const void* planned_as(const planner::vertex& v) {
  return !v.inputs.empty() && v.inputs.front().part_of ? v.inputs.front().part_of : &v;
}

// What only a run finds to have no code is the CPU's, too: no such exception may reach a user.
template <class F> void generated_or_left(F f) {
  try {
    f();
  } catch (const not_generated& e) {
    throw resource_error(std::string("gpu: ") + e.what());
  }
}

// Runs in wait(), on the thread that waits: the executor has nothing else to do meanwhile.
class gpu_vertex final : public runtime::running_vertex {
 public:
  gpu_vertex(gpu_set& gpus, known_kernels& kernels, const planner::vertex& v, runtime::output_port& out, runtime::run_context& context)
      : gpus_(&gpus), gpu_(gpus.one()), kernels_(&kernels), vertex_(&v), out_(&out), context_(&context) {}
  void wait() override {
    try {
      generated_or_left([&] { run(); });
    } catch (...) {
      if (round_recording* r = round_recording::here()) r->spoil("a vertex failed");
      throw;
    }
  }

 private:
  void run() {
    const scoped_context here(gpu_->on());  // once for all that follows
    const waits_for_kernels waits(planner::demands_gpu(*vertex_));
    check_there_are_tables();
    out_->tell(runtime::signal::begin_stream);
    if (!on_several()) {
      for (const planner::branch& b : vertex_->inputs) bring_inputs(gpu_, b, *context_);
      bring_captures(gpu_, vertex_->captures, *context_);
      vertex_run run(gpu_, vertex_->captures, *context_);
      give(result(run));
      // Repeated rounds run on another stream.
      if (round_recording::here()) run.on().synchronize(context_->cancel);
      kernels_->ran(planned_as(*vertex_), run.compiled());
    }
    out_->tell(runtime::signal::end_stream);
  }

  // Where memory has no room for the table that a fold reads, its rows are handed on to a fold of the CPU's.
  void check_there_are_tables() const {
    const planner::vertex* const table = vertex_->folds ? vertex_->inputs.front().table : nullptr;
    if (table && context_->streams(*table))
      throw resource_error("gpu: memory: the CPU hands the rows on one by one, as it has no room for a table of them");
  }

  // Where devices cannot share it, one of them runs it.
  bool on_several() {
    std::string why;
    try {
      auto shared = run_on_several(*vertex_, *gpus_, *context_);
      if (!shared) return false;
      give(std::move(shared->results));
      kernels_->ran(vertex_, shared->compiled);
      return true;
    } catch (const resource_error& e) {
      why = e.what();
    } catch (const internal_error& e) {
      why = e.what();
    }
    context_->cancel.check();
    gpus_->note(verb_of(*vertex_), "the GPUs did not share it: " + why);
    return false;
  }

  void give(block_results results) {
    if (results.kept) {
      runtime::block b;
      b.kept = std::move(results.kept);
      out_->push(std::move(b));
    }
    for (detail::table& t : results.tables) {
      runtime::block b;
      b.rows.rows = const_cast<void*>(t.rows);
      b.rows.n = t.n;
      b.owner = std::move(t.owner);
      out_->push(std::move(b));
    }
  }

  block_results result(vertex_run& run) const {
    if (const auto texts = vertex_->node ? made_texts::of(*vertex_->node) : nullptr)
      return {with_room(run, [&] { return run_with_texts(*vertex_, *texts, run); }), {}};
    const whole_input_verb w = whole_inputs(*vertex_);
    const auto whole = [&] {
      if (vertex_->folds) return folded(run);
      return block_results{with_room(run, [&] { return w.run ? w.run(*vertex_, run) : in_one_piece(run); }), {}};
    };
    if (w.run && !has_blocks(*vertex_)) return whole();  // where memory lacks, the CPU takes over
    if (std::none_of(vertex_->inputs.begin(), vertex_->inputs.end(), [&](const planner::branch& b) { return exceeds_memory(b, run); })) {
      try {
        return whole();
      } catch (const out_of_memory&) {
        context_->cancel.check();
        run.supply(nullptr);
      }
    }
    if (round_recording* r = round_recording::here()) r->spoil("its rows do not fit the device");
    return run_in_blocks(*vertex_, run);
  }

  // What joins have kept for later rounds, and copies of what functions capture, are the first to be given up.
  template <class F> result_rows with_room(vertex_run& run, F f) const {
    try {
      return f();
    } catch (const out_of_memory&) {
      context_->cancel.check();
      if (round_recording::here()) throw;
      run.on().synchronize(context_->cancel);  // kernels may read them, whose memory is another stream's
      const bool builds = forget_builds(*context_), captured = forget_captured(*context_, run.gpu());
      if (!builds && !captured) throw;
    }
    run.supply(nullptr);
    run.reset_status();
    return f();
  }

  block_results folded(vertex_run& run) const {
    detail::fold_state state;
    run_joins(vertex_->inputs.front(), run);
    run_fold(behind_joins(*vertex_).inputs.front(), *vertex_->folds, state, run);
    return {nullptr, {runtime::table_of({state})}};
  }
  result_rows in_one_piece(vertex_run& run) const {
    run_joins(vertex_->inputs.front(), run);
    const planner::vertex v = behind_joins(*vertex_);
    if (!v.node) return run_collect(v, run);
    switch (v.node->what) {
      case verb::order_by:
        return run_order_by(v, run);
      case verb::cached:
        return run_cached(v, run);
      case verb::apply:
        return run_apply(v, run);
      default:
        return run_group_by(v, run);
    }
  }

  gpu_set* gpus_;
  std::shared_ptr<gpu_session> gpu_;
  known_kernels* kernels_;
  const planner::vertex* vertex_;
  runtime::output_port* out_;
  runtime::run_context* context_;
};

class engine final : public runtime::engine {
 public:
  engine(gpu_set::opener open, std::size_t devices, const runtime::gpu_limits& limits, kernel_cache& kernels, std::size_t block_rows,
         std::size_t share_rows)
      : limits_(limits), gpus_(std::move(open), devices, limits, kernels, block_rows, share_rows) {}

  std::string_view name() const override { return "gpu"; }
  gpu_session& session() const { return *gpus_.first(); }
  gpu_set& gpus() const { return gpus_; }
  gpu_costs& known_costs() { return costs_; }
  bool is_gpu() const override { return true; }
  const runtime::cost_model* costs() const override { return costs_ ? &costs_ : nullptr; }
  int retries() const override { return 0; }  // a lack of memory has been answered with blocks
  void trim() noexcept override {
    try {
      for (const auto& gpu : gpus_.open_now()) {
        gpu->copies().trim();
        gpu->memory().trim();
      }
    } catch (...) {  // a device that was lost just now
    }
  }

  std::string refuses(const planner::vertex& v) const override {
    if (const std::string why = gpus_.loss(); !why.empty()) return std::string(runtime::gpu_was_lost) + why;
    if (!v.accelerated) return "not accelerated";
    std::string few;
    std::size_t small = 0;
    try {
      const bool orders = v.node && v.node->what == verb::order_by;
      if (v.limit != ~0ull && !orders && !whole_inputs(v).plan) return "only its first rows are wanted";
      for (const planner::branch& b : v.inputs) {
        check_source(b, needs_all_rows(v));
        const std::string why = too_few(b);
        few = why.empty() ? few : why;
        small += why.empty() ? 0 : 1;
      }
    } catch (const not_generated& e) {
      return e.what();
    }
    // In a loop few rows may be all that moves: that is weighed as a whole.
    const bool of_rounds = !v.slots.empty() && costs_.known(), all_small = small && small == v.inputs.size();
    return all_small && !planner::demands_gpu(v) && !of_rounds && !busy(runtime::operations_in(v, &costs_)) ? few : "";
  }
  runtime::verdict accepts(const planner::vertex& v) const override {
    if (const std::string why = refuses(v); !why.empty()) return {false, why};
    runtime::verdict answer;
    answer.devices = planned_devices(v, gpus_);
    const kernel_source::witness generated;
    try {
      if (std::string why = plan(v); !why.empty()) return {false, std::move(why)};
      answer.yes = true;
      answer.why = gpus_.name(answer.devices);
    } catch (const not_generated& e) {
      return {false, e.what()};
    }
    // The same functions are other kernels where their rows lie in other columns.
    costs_.kernels().planned(&v, generated.seen().empty() ? "" : generated.seen() + lie_of(v.inputs));
    const std::string others = answer.devices > 1 ? "" : why_on_one(v, gpus_), trouble = gpus_.note_of(verb_of(v));
    for (const std::string& note : {generated.captured(), search_of(v), others, trouble.empty() ? trouble : "in the last run " + trouble})
      if (!note.empty()) answer.notes += "; " + note;
    return answer;
  }

  // What it compiles is known since it was asked.
  void takes_again(const planner::vertex& v) override { costs_.kernels().planned(&v, {}); }
  std::string lost() const override { return gpus_.loss(); }

  std::unique_ptr<runtime::running_vertex> start(const planner::vertex& v, std::span<runtime::input_port* const>,
                                                 runtime::output_port& output, runtime::run_context& context) override {
    return std::make_unique<gpu_vertex>(gpus_, costs_.kernels(), v, output, context);
  }
  std::unique_ptr<runtime::round_repeater> repeater(const planner::vertex& loop, runtime::run_context& context,
                                                    std::string& why_not) override {
    for (const auto* vertices : {&loop.body, &loop.test})
      for (const planner::vertex* v : *vertices)
        if (v->node && v->node->what == verb::apply) why_not = "what apply's function gives the GPU is not seen";
        else if (shares_rounds(*v, gpus_, context)) why_not = "several GPUs share them";
    if (!why_not.empty()) return nullptr;
    return std::make_unique<round_replay>(gpus_.one(), context);
  }

 private:
  // Throws not_generated, or says why not.
  std::string plan(const planner::vertex& v) const {
    const whole_input_verb whole = whole_inputs(v);
    if (const auto texts = v.node ? made_texts::of(*v.node) : nullptr) {
      for (const planner::branch& b : v.inputs) check_source(b, false);  // they lie side by side before strings are made of them
      plan_with_texts(v, *texts);
      return {};
    }
    if (whole.plan) {
      whole.plan(v);
      return {};
    }
    if (!v.inputs.empty()) plan_joins(v.inputs.front());
    const planner::vertex w = behind_joins(v);
    if (w.folds) {
      plan_fold(w.inputs.front(), *w.folds);
    } else if (!w.node) {
      if (!in_parts(v.inputs.front()) || !w.inputs.front().stages.empty()) plan_collect(w);
    } else if (v.node->what == verb::group_by || v.node->what == verb::aggregate)
      plan_group_by(w);
    else if (v.node->what == verb::order_by)
      plan_order_by(w);
    else if (v.node->what == verb::cached)
      plan_cached(w);
    else if (v.node->what == verb::apply)
      plan_apply(w);
    else
      return no_form(v.node->what);
    return {};
  }
  // What explain() says of the way in which a vertex looks for the nearest rows of a table.
  static std::string search_of(const planner::vertex& v) {
    const bool groups = v.node && v.node->what == verb::group_by;
    if (v.inputs.empty() || v.folds || (v.node && !groups)) return {};
    const planner::vertex w = behind_joins(v);
    return nearest_note(w.inputs.front(), groups ? w.node : nullptr);
  }
  // Few rows that take as long as many.
  bool busy(double operations) const {
    constexpr double operations_of_a_row = 64;
    return operations > operations_of_a_row * static_cast<double>(limits_.min_rows);
  }
  std::string lie_of(std::span<const planner::branch> inputs) const {
    std::string lie;
    for (const planner::branch& b : inputs) lie += b.table && b.table->engine == name() ? " there" : " here";
    return lie;
  }
  std::string too_few(const planner::branch& b) const {
    const auto n = known_rows(b);
    if (!n || *n >= limits_.min_rows) return {};
    return "its " + std::to_string(*n) + " rows cost less on the CPU than a launch and its copies";
  }

  runtime::gpu_limits limits_;
  mutable gpu_set gpus_;  // opens its devices when they are first wanted
  mutable gpu_costs costs_;
};

}  // namespace

gpu_costs& costs_of(runtime::engine& e) { return dynamic_cast<engine&>(e).known_costs(); }

gpu_session& session_of(runtime::engine& e) { return dynamic_cast<engine&>(e).session(); }

gpu_set& gpus_of(runtime::engine& e) { return dynamic_cast<engine&>(e).gpus(); }

std::shared_ptr<runtime::engine> make_engine(const device& d, const runtime::gpu_limits& limits, kernel_cache& kernels,
                                             std::size_t block_rows) {
  return make_engine(std::vector<const device*>{&d}, limits, kernels, block_rows);
}

std::shared_ptr<runtime::engine> make_engine(std::vector<const device*> devices, const runtime::gpu_limits& limits, kernel_cache& kernels,
                                             std::size_t block_rows, std::size_t share_rows) {
  const std::size_t n = devices.size();
  return std::make_shared<engine>([all = std::move(devices)](std::size_t i) { return all[i]; }, n, limits, kernels, block_rows,
                                  share_rows);
}

std::shared_ptr<runtime::engine> make_engine(std::function<const device*(std::size_t)> open, std::size_t n,
                                             const runtime::gpu_limits& limits, kernel_cache& kernels) {
  return std::make_shared<engine>(std::move(open), n, limits, kernels, 0, 0);
}

}  // namespace query::gpu_engine
