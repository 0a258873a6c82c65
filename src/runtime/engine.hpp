// An engine accepts vertices of the machine graph, runs them over ports, and says what work costs it.
//
// The CPU engine, the GPU engine and the cluster implement this; tests/engine_double proves that one in another process fits.
//
//   if (auto v = e.accepts(vertex); v) { auto task = e.start(vertex, inputs, output, context); task->wait(); }
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <query/detail/signal.hpp>

#include "runtime/part_costs.hpp"
#include "runtime/placement/cost_model.hpp"
#include "runtime/run_context.hpp"

namespace query::runtime {

// Rows on their way between vertices; `owner` keeps them alive. An engine that keeps its result hands over `kept` instead:
// then it is the only block of its stream.
struct block {
  std::shared_ptr<void> owner;
  detail::row_block rows;
  std::shared_ptr<kept_rows> kept;
};

// What travels through a port besides blocks: streams may be nested in iterations of loops.
using dataflow::signal;

// The receiving end of an edge.
class input_port {
 public:
  virtual ~input_port() = default;
  virtual const ir::type* row() const = 0;
  virtual bool next(block& b) = 0;            // false at the end of the stream; throws cancelled
};

// The sending end.
class output_port {
 public:
  virtual ~output_port() = default;
  virtual void tell(signal s) = 0;
  virtual void push(block b) = 0;
};

// The time that a vertex would take on another engine, and on the CPU engine in its place.
struct expected_costs {
  double there = 0, cpu = 0, to_compile = 0;  // seconds
  bool pays() const { return there + to_compile <= cpu; }
  // "12 ms here, 40 ms on the CPU", as the engine says that has it.
  std::string reason() const;
  operator planner::expected_seconds() const { return {there, cpu}; }
};

// Whether an engine can run a vertex; and, once both have been asked what it costs them (placement/weighing.hpp), whether it is to.
struct verdict {
  bool yes = false;                            // it can
  std::string why = {};                       // shown by explain()
  std::optional<part_costs> costs = {};       // where rows may be divided, and nothing has to be compiled
  std::string notes = {};                     // shown behind the reason, where it runs here
  std::size_t devices = 1;                    // that would share it
  std::optional<expected_costs> expected = {};  // where it was weighed, whatever the answer
  explicit operator bool() const { return yes && (!expected || expected->pays()); }
};

// A vertex that is running. Destroying it waits.
class running_vertex {
 public:
  virtual ~running_vertex() = default;
  virtual void wait() = 0;                    // returns when the output has ended; throws what the vertex threw
};

// Takes over the rounds of one loop, all of whose vertices its engine runs, once it has watched one of them: later rounds run
// as that one did, without the executor. Used by the thread that drives the loop; destroying it ends the watch.
class round_repeater {
 public:
  struct outcome {
    vertex_rows variable;
    std::uint64_t rounds = 0;  // that were run
    bool ended = false;        // the condition said so
    std::string how;           // "as CUDA graphs"
  };
  virtual ~round_repeater() = default;
  // Watches the round that this thread starts now. Gives the variable to run it with; nothing if this one cannot be watched.
  virtual std::optional<vertex_rows> watch(const vertex_rows& variable) = 0;
  // The round has run; what the executor does from here on is its own.
  virtual void watched() = 0;
  // The round that was watched gave `next`, and its condition `answer` (null: no condition). Runs at most `most` rounds more,
  // as long as they go as that one went; nothing if it cannot.
  virtual std::optional<outcome> repeat(const vertex_rows& next, const vertex_rows* answer, std::uint64_t most) = 0;
  // For explain(): why it gave nothing the last time, or stopped before `most`. "": it did not.
  virtual std::string why_not() const = 0;
};

class engine {
 public:
  virtual ~engine() = default;
  virtual std::string_view name() const = 0;
  // Do on(engine::gpu) and require_gpu() mean this one?
  virtual bool is_gpu() const { return false; }
  // May this vertex run here? Asked by the planner, before any data is there. One that folds is asked about like others.
  virtual verdict accepts(const planner::vertex& v) const = 0;
  // A part of that answer which takes no time: why it may not. Asked before costs are; "": the whole answer may still be no.
  virtual std::string refuses(const planner::vertex&) const { return {}; }
  // Null: what it accepts is its, whatever that costs.
  virtual const cost_model* costs() const { return nullptr; }
  // All vertices have been placed, some of them here: for whoever watches.
  virtual void placed(const planner::machine_graph&) const {}
  // Inputs are in the order of v.inputs, without their stages: the engine runs those too. Captured collections come from
  // context.bind(v.captures). Functions may be called with a vertex again after a failure.
  virtual std::unique_ptr<running_vertex> start(const planner::vertex& v, std::span<input_port* const> inputs, output_port& output,
                                                run_context& context) = 0;
  // It took the same vertex in earlier runs of the query, and takes this one without being asked. Where a run finds that it cannot after
  // all, that is a resource_error as ever.
  virtual void takes_again(const planner::vertex&) {}
  // Why it can run nothing more in this process; "": it can.
  virtual std::string lost() const { return {}; }
  // A loop (do_while) whose body and condition were placed here, or some of them: then it is not used. Null: the executor runs it vertex
  // by vertex; explain() says `why_not` where the engine repeats others.
  virtual std::unique_ptr<round_repeater> repeater(const planner::vertex&, run_context&, std::string& /*why_not*/) { return nullptr; }
  // How often a vertex that failed with resource_error or cluster_error is started again before the CPU engine takes it.
  virtual int retries() const { return 1; }
  // Gives memory that it keeps for reuse back to where it came from (Session::trim). Throws nothing: what is lost keeps nothing.
  virtual void trim() noexcept {}
};

// What a session lets its GPU engine take.
struct gpu_limits {
  std::size_t memory = 0;    // bytes of memory of each device; 0: nine tenths of what is free
  std::size_t min_rows = 0;  // inputs with fewer rows stay on the CPU
  std::vector<int> devices = {};  // their numbers; one that is named twice counts as two; empty: the first
};

// Why a session has no GPU engine.
struct without_gpu {
  std::string why;
  bool lost = false;  // there was a GPU
};
// The GPU engine of a session; null, with the reason, where there is no driver, no GPU, no NVRTC. Defined by src/gpu_engine.
std::shared_ptr<engine> make_gpu_engine(const gpu_limits& limits, without_gpu& reason);

}  // namespace query::runtime
