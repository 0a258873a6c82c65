// One run of one query: what every operator may use, and the tables computed so far.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <query/broadcast.hpp>
#include <query/detail/execute.hpp>

#include "data/file_source.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/begun_streams.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/cancellation.hpp"
#include "runtime/progress.hpp"
#include "runtime/run_profile.hpp"
#include "runtime/sampled_streams.hpp"
#include "runtime/scheduler.hpp"

namespace query::runtime {

struct run_context;
class local_engine;
class shared_rows;
class temp_space;

// Rows that an engine keeps in memory of its own (a GPU, another machine), or in a form of its own, until somebody else asks for them.
class kept_rows {
 public:
  virtual ~kept_rows() = default;
  virtual std::string_view engine() const = 0;              // its name
  virtual std::uint64_t size() const = 0;                   // rows
  virtual detail::table fetch(run_context& context) = 0;    // brings them to this process's memory
  virtual bool stays() const { return true; }               // there, once they have been brought here
};

// The result of a vertex, or a loop variable: rows that are here, or that an engine keeps and nobody has read yet.
struct vertex_rows {
  vertex_rows() = default;
  vertex_rows(detail::table t) : rows(std::move(t)) {}
  explicit vertex_rows(std::shared_ptr<kept_rows> k) : kept(std::move(k)) {}

  detail::table rows;
  std::shared_ptr<kept_rows> kept;
  bool here() const { return !kept || rows.type; }
};

// How rows beyond an engine's memory went through it, for explain() after the run: counted by what runs, on any thread.
struct pieces_run {
  std::atomic<std::uint64_t> blocks{0};      // of rows, and partitions of them
  std::atomic<std::uint64_t> partitions{0};  // into which rows were put apart in host memory
  std::atomic<std::uint64_t> spills{0};      // of groups to host memory
  std::atomic<std::uint64_t> in_rooms{0};    // of the blocks, in memory that was kept for them, as others had the rest
  std::atomic<std::uint64_t> waited{0};      // milliseconds, for memory that others had
  std::atomic<std::uint64_t> to_files{0};    // bytes of rows that went to temporary files

  // "12 blocks of rows, 3 spills of groups to host memory" since the last call; empty where all was in one piece.
  std::string taken();
  void add(const pieces_run& of);  // which then counts here, too
};

// The CPU moves rows of these verbs to temporary files where memory is full.
inline bool may_leave_memory(const planner::vertex& v) {
  if (v.engine != "cpu" || !v.node) return false;
  switch (v.node->what) {
    case detail::verb::group_by:
    case detail::verb::order_by:
    case detail::verb::distinct:
    case detail::verb::union_with:
    case detail::verb::intersect:
    case detail::verb::except:
    case detail::verb::join:
    case detail::verb::group_join:
    case detail::verb::reverse:
    case detail::verb::sample:
    case detail::verb::partition:
    case detail::verb::apply:
    case detail::verb::cached:
    case detail::verb::take_last:
    case detail::verb::skip_last: return true;
    default: return false;
  }
}

// What explain() says of the last run of a vertex on the CPU is known by this verb; null: it says nothing.
inline const detail::logical* verb_of_pieces(const planner::vertex& v) {
  if (v.engine != "cpu") return nullptr;
  if (v.node || v.inputs.empty()) return v.node && (may_leave_memory(v) || planner::hands_on(v.node->what)) ? v.node : nullptr;
  const auto& stages = v.inputs.front().stages;
  return stages.empty() || stages.back().nodes.empty() ? nullptr : stages.back().nodes.back();
}

struct run_context {
  runtime::scheduler& scheduler;
  buffer_pool& pool;
  cancel_flag& cancel;
  runtime::progress* progress = nullptr;
  bool verify = false;
  local_engine* local = nullptr;  // reads sources for engines that cannot; null in tests of one engine alone
  // Where other engines take rows of the same source meanwhile: each part of it is asked for before it is run.
  shared_rows* shared = nullptr;
  // Mutable: rows are fetched when somebody here reads them.
  mutable std::unordered_map<const planner::vertex*, vertex_rows> tables{};    // results of vertices
  std::unordered_set<const planner::vertex*> left_to_joins{};                  // build sides whose joins collect them, as memory allows
  // Joins that were stages of a branch (by its number) and had no room in memory: their rows, until another vertex runs.
  std::map<std::pair<const detail::logical*, int>, std::shared_ptr<kept_rows>> joined_apart{};
  std::unordered_set<const planner::vertex*> too_large{};                      // vertices kept_if_it_fits, or that may_stream, that did not
  mutable std::unordered_map<std::uint64_t, vertex_rows> variables{};          // loop variables by slot
  // Copies that engines made of sources (by node) and of tables (by vertex), while loops run: the next round finds them.
  std::unordered_map<const void*, std::shared_ptr<kept_rows>> copies{};
  int loops = 0;                                                               // that are running

  const detail::table& table_of(const planner::vertex& v) const;         // internal_error if it has not run
  // Its readers take its rows as they come; there is no table of them.
  bool streams(const planner::vertex& v) const { return v.streamed || too_large.contains(&v); }
  const detail::table& variable(std::uint64_t slot) const;               // user_error: a placeholder outside its loop
  // The rows that a branch begins with, if a vertex that has run or a loop variable gives them, here or kept; else null.
  vertex_rows* rows_before(const planner::branch& b) const;
  // The captured collections of a vertex, for detail::binding_scope around its tasks.
  std::vector<detail::binding> bind(const std::vector<planner::binding>& captures) const;

  // The rows in this process's memory; an engine that keeps them is asked, once.
  const detail::table& fetched(vertex_rows& r) const;
  mutable std::mutex fetching{};

  std::uint32_t partition = 0;  // in which all of this happens
  // Vertices of cached() whose rows the session has to have: what they would be made of has not been computed.
  std::unordered_set<const planner::vertex*> surely_cached{};
  std::unordered_map<const planner::vertex*, data::file_part> parts_of_files{};  // of those that several partitions read

  sampled_streams sampled{};
  begun_streams begun{};  // by engines that may fail, until the vertex has run
  // Shares of a vertex count together.
  std::shared_ptr<pieces_run> pieces = std::make_shared<pieces_run>();
  temp_space* temp = nullptr;  // where rows go that memory has no room for; null: nowhere
  // Of vertices that the CPU ran whose rows may go to files, those that are read after the vertex has run too.
  std::unordered_map<const detail::logical*, std::shared_ptr<pieces_run>> of_vertices{};

  std::shared_ptr<profiled_run> profile{};  // what the run does is counted there; null: nobody counts
  // Rows of its inputs that the vertex which runs now has read.
  // The vertex at work finds so many integer keys by their values, without hashing; 0: it hashes.
  void has_perfect_hash(std::uint64_t keys) const {
    if (profiled_vertex* r = keys && profile ? profile->now() : nullptr) r->perfect.store(keys, std::memory_order_relaxed);
  }
  void rows_read(std::uint64_t n) const {
    if (profiled_vertex* r = profile && !shared ? profile->now() : nullptr) r->add_rows_in(n);
  }
};

// While it lives, what goes to temporary files counts for a verb.
class counted_pieces {
 public:
  counted_pieces(run_context& c, const detail::logical* verb) : context_(&c), others_(c.pieces) {
    std::shared_ptr<pieces_run>& of_verb = c.of_vertices[verb];
    if (!of_verb) of_verb = std::make_shared<pieces_run>();
    c.pieces = of_verb;
  }
  counted_pieces(const counted_pieces&) = delete;
  counted_pieces& operator=(const counted_pieces&) = delete;
  ~counted_pieces() { context_->pieces = others_; }

 private:
  run_context* context_;
  std::shared_ptr<pieces_run> others_;
};

}  // namespace query::runtime
