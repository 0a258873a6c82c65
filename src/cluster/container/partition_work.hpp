// What the tasks of one partition of a query do, in whatever process it is: by its copy of the machine graph, over its tables.
//
//   partition_work here(graph, session, context, executor, 1);
//   here.arrived(task, block, pages);                    // for each block of a receiving task
//   task_result r = here.work(task);                     // throws what the query's functions throw
//   here.blocks()                                        // what its sends hold for others
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "cluster/blocks/block_store.hpp"
#include "cluster/bytes.hpp"
#include "cluster/container/task_queue.hpp"
#include "cluster/master/tasks.hpp"
#include "data/file_source.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/exchange_side.hpp"
#include "runtime/executor.hpp"
#include "runtime/heavy_keys.hpp"
#include "runtime/page_store.hpp"
#include "runtime/row_pages.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::cluster {

// Pages within the argument or the answer of a task.
void put_pages(byte_writer& to, const runtime::row_pages& pages);
runtime::row_pages get_pages(byte_reader& from, runtime::buffer_pool& pool);

// The same of keys, and of other numbers.
void put_numbers(byte_writer& to, const std::vector<std::uint64_t>& all);
std::vector<std::uint64_t> get_numbers(byte_reader& from);
void put_heavy_keys(byte_writer& to, const runtime::heavy_keys& keys);
runtime::heavy_keys get_heavy_keys(byte_reader& from, std::size_t receivers);

// Where to a task writes rows.
void put_sink(byte_writer& to, const data::folder_sink& sink);
data::folder_sink get_sink(byte_reader& from);
// And which files it has written.
void put_written(byte_writer& to, const std::vector<data::written_file>& files);
std::vector<data::written_file> get_written(byte_reader& from);

// The parts of files have numbers of vertices of their own, behind those of the graph.
inline std::uint64_t number_of_part(std::uint64_t vertex, const planner::machine_graph& g) { return vertex + g.vertices.size(); }

// So have the variables of loops in each of their rounds, where they lie in partitions.
inline std::uint64_t number_of_variable(std::uint64_t vertex, std::uint64_t round, const planner::machine_graph& g) {
  return vertex + (round + 2) * g.vertices.size();
}
inline bool is_variable(std::uint64_t number, const planner::machine_graph& g) { return number >= 2 * g.vertices.size(); }
// Of a task that makes one: of the rows that the loop begins with, or of those that the body gave.
enum class variable_from : std::uint8_t { first_rows, body };

class partition_work {
 public:
  partition_work(const planner::machine_graph& graph, runtime::session_state& session, runtime::run_context& context,
                 runtime::executor& runs)
      : graph_(&graph),
        session_(&session),
        context_(&context),
        runs_(&runs),
        exchanges_(session, runs, context),
        pages_(std::make_shared<runtime::page_store>(context.pool, context.temp)),
        blocks_(std::make_shared<block_store>(pages_)) {}

  // One thread calls these.
  task_result work(const task& t);
  void forget(const forget_rows& gone);
  // Of vertices that have no step, and of waits.
  void run_here(const planner::vertex& v) { runs_->run_here(v); }
  void in_name_of(const planner::vertex& v, function_ref<void()> f) { runs_->in_name_of(v, f); }
  runtime::exchange_side& exchanges() { return exchanges_; }

  // Any thread may call these.
  block_store::held_block new_block() { return pages_->make(); }  // for pages that come from another process
  void arrived(const task_id& t, const block& b, block_store::held_block held);
  void discard(const task_id& t, const block& b);
  const std::shared_ptr<block_store>& blocks() const { return blocks_; }

 private:
  using name = std::tuple<step_id, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  static name of(const task_id& t, const block& b) { return {t.step, t.attempt, b.at.partition, b.at.incarnation, b.attempt}; }
  const planner::vertex& vertex(std::uint64_t number) const;
  void of_file(const planner::vertex& v, const task& t, byte_writer& answer);
  void write(const task& t, task_result& r, byte_writer& answer);
  void send(const planner::vertex& v, const task& t, task_result& r);
  void receive(const planner::vertex& v, const task& t);
  std::vector<block_store::held_block> taken(const task& t);
  void hold(const task& t, task_result& r);
  void work_on_variable(const planner::vertex& loop, const task& t, task_result& r);
  void send_variable(const planner::vertex& loop, const task& t, task_result& r);

  const planner::machine_graph* graph_;
  runtime::session_state* session_;
  runtime::run_context* context_;
  runtime::executor* runs_;
  runtime::exchange_side exchanges_;
  const std::shared_ptr<runtime::page_store> pages_;  // what is sent and received
  const std::shared_ptr<block_store> blocks_;
  struct variable {
    const planner::vertex* loop = nullptr;
    runtime::vertex_rows rows;
  };
  std::map<step_id, variable> variables_;  // by the step that made it
  class variables_in_place;
  std::mutex lock_;
  std::map<name, block_store::held_block> inbox_;
};

}  // namespace query::cluster
