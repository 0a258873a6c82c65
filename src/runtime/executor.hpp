// Runs a machine graph: its vertices in order, each on its engine, loops round by round.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/machine_graph.hpp"
#include "runtime/cached_vertices.hpp"
#include "runtime/checkpoint.hpp"
#include "runtime/engine.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// Names the engine of every vertex, by asking the session's engines in their order, and why. Throws user_error where
// require_gpu() was said and the GPU cannot, resource_error where it was lost. `no_gpu`: why accelerated vertices stay on the CPU; "": they
// need not. `how`: vertices all of whose rows are wanted may be cut at opaque functions (planner/opaque_cut.hpp). `saved`: by code that is
// to be compiled, for when the plan runs.
void place(planner::machine_graph& g, const session_state& session, const std::string& no_gpu, planner::reading how,
           compile_debts::of_plan& saved);
// The same of what the terminal verb folds, after all others: by the session's GPU, if `gpu` is not null, alone or with the CPU; engines
// that were added to the session have shares of it only.
void place(planner::machine_graph& g, const session_state& session, detail::fold_kind fold, const engine* gpu,
           compile_debts::of_plan& saved);
// All that is accelerated goes to the session's GPU, unasked, as in earlier runs that left it nothing.
void place_on_gpu(planner::machine_graph& g, session_state& session, const std::string& why, std::optional<detail::fold_kind> fold);
// Throws if a verb of the rows that the caller reads is ordered to the GPU, by on() or require_gpu(): user_error, or resource_error
// where the session's was lost.
void check_orders_of_result(const planner::branch& result, const std::string& why, const session_state* session = nullptr);

// The verb that stands for a vertex in what a session remembers; null: none does.
const detail::logical* last_verb(const planner::vertex& v);
// That verb, and of a fold the terminal verb's name.
std::pair<const detail::logical*, std::string_view> known_by(const planner::machine_graph& g, const planner::vertex& v);

// Throws again what an engine failed with (within a catch block), where a verb of the vertex that it failed at is ordered to the GPU, by
// on() or require_gpu(): the CPU is not to take it. The message names that verb and its place.
void rethrow_if_gpu_demanded(const planner::vertex& v);
[[noreturn]] void rethrow_for(const detail::logical& demanding);  // the same, of a verb that is


// One vertex on one engine, to its end. `local` reads its inputs where the engine asks for them.
vertex_rows run_on(engine& e, const planner::vertex& v, local_engine& local, run_context& context);

class partitions;

class executor {
 public:
  // over, if not null: the partitions that the graph is run in, of which this is the first.
  executor(const planner::machine_graph& g, session_state& session, run_context& context, partitions* over = nullptr)
      : graph_(&g), session_(&session), context_(&context), over_(over) {}
  void run_vertices();  // all but the terminal
  vertex_rows run_fold() { return run_by_engines(*graph_->fold); }  // by other engines than the CPU's: states (fold_states.hpp)
  // The same of one partition, by the set: before the first vertex; and one vertex.
  void begin();
  void run_here(const planner::vertex& v);
  // What happens for a vertex: its time, and its verb in what is thrown.
  void in_name_of(const planner::vertex& v, function_ref<void()> f);
  const cached_vertices& cached() const { return cached_; }  // that this run has found
  const planner::vertex* reached() const { return reached_; }  // that run_vertices() runs, or failed at; null: none
  bool fell_back() const { return fell_back_; }  // the CPU took over a vertex that its engine could not run

 private:
  void run_in_round(const std::vector<planner::vertex*>& vertices);
  void run(const planner::vertex& v);  // in all its partitions
  bool only_the_cpu_reads(const planner::vertex& v) const;
  bool all_on_cpu();
  void keep_if_it_fits(const planner::vertex& v);
  vertex_rows compute(const planner::vertex& v);
  vertex_rows computed(const planner::vertex& v);
  vertex_rows brought_there(const planner::vertex& v, session_state::cached_rows found);
  vertex_rows run_placed(const planner::vertex& v);
  vertex_rows run_by_engines(const planner::vertex& v);
  vertex_rows found_by_cpu(const planner::vertex& v);
  void note_run(const planner::vertex& v, std::string why);
  void ran_on(const planner::vertex& v, std::string_view engine) const;
  struct round_result {
    vertex_rows next;
    vertex_rows answer;  // of a condition that is a query
  };
  vertex_rows run_loop(const planner::vertex& v);
  vertex_rows run_loop_in_partitions(const planner::vertex& v);
  bool holds(vertex_rows& condition) const;
  static void check_rounds(const detail::logical& n, std::uint64_t round);  // throws where no more are allowed
  round_result one_round(const planner::vertex& v, const vertex_rows& now);
  bool another(const detail::logical& n, std::uint64_t round, vertex_rows& now, round_result& r);
  std::unique_ptr<round_repeater> repeater_of(const planner::vertex& v, std::string& why_not) const;
  void forget(const std::vector<planner::vertex*>& vertices);
  void find_checkpoints();

  const planner::machine_graph* graph_;
  session_state* session_;
  const detail::logical* demanding_loop_ = nullptr;  // the loop that is running, if the GPU is demanded for it
  run_context* context_;
  partitions* over_;
  bool fell_back_ = false;
  const planner::vertex* reached_ = nullptr;
  cached_vertices cached_;
  std::map<const planner::vertex*, checkpoint> checkpoints_;  // of cached rows that are yet to be computed
  std::vector<std::unique_ptr<planner::vertex>> brought_;  // with found rows as their input
  std::optional<bool> all_on_cpu_;
};

}  // namespace query::runtime
