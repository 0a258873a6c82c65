// A query's machine graph as bytes, for the partitions of its cluster graph that other processes of this program run.
//
// Sent are the vertices that run in all partitions, with the functions that they call: as closure images, code by its place in the program.
// Vertices of the first partition alone stay where they are. Rows, of sources and of captured collections, follow the plan one by one. Then
// functions are traced again: one whose expression differs reads what is not captured, as a global variable that main() has changed.
// Source: docs/design/028.
//
//   sent_plan plan = write_plan(graph, options, here);               // throws verb_stays, cannot_travel; closures_stay
//   received_plan there = read_plan(plan.bytes, program_there, kept);
//   there.sources[i].receive(column, table);                         // for each of plan.sources
//   complete(there, verified);                                       // the forms of its functions; throws user_error
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <query/detail/function_ref.hpp>

#include "cluster/closure_image.hpp"
#include "cluster/program.hpp"
#include "ir/type_registry.hpp"
#include "planner/column_forms.hpp"
#include "planner/interpretation.hpp"
#include "planner/machine_graph.hpp"

namespace query::cluster {

// What cannot be sent, at a verb of the user's.
struct verb_stays : cannot_travel {
  const detail::logical* verb = nullptr;
  const void* function = nullptr;  // user_function::f, whose closure it is
};
// All closures that cannot be sent, where nothing else keeps the plan here.
struct closures_stay {
  std::vector<verb_stays> all;
};

// A source of which each partition gets its own rows; of columns, those that somebody reads.
struct sent_source {
  const detail::logical* node = nullptr;
  std::vector<bool> wanted;  // empty: all
  bool reads(std::size_t part) const { return wanted.empty() || wanted[part]; }
};
struct sent_plan {
  std::vector<std::byte> bytes;
  std::vector<sent_source> sources;
  std::vector<std::shared_ptr<const detail::capture>> captured;  // whose rows are to follow, all of them
};
// by_expression: functions whose expressions travel instead of their closures (planner::run_by_expression).
sent_plan write_plan(const planner::machine_graph& g, const planner::column_options& forms, const program& here,
                     const planner::function_set& by_expression = {});

// Rows that came from the master, as the source of a branch.
class received_source {
 public:
  explicit received_source(detail::logical& node) : node_(&node) {}
  std::vector<const ir::type*> parts() const;            // the types of the tables that follow: the rows, or a column for each field
  void receive(std::size_t part, detail::table rows);    // in this order; a part that does not come is read by nobody

 private:
  struct held {
    held() = default;
    held(const held&) = delete;
    held& operator=(const held&) = delete;
    ~held();
    std::vector<std::pair<void*, std::size_t>> unread;  // addresses without memory, of columns that nobody reads
    std::vector<detail::table> tables;
    std::vector<const void*> columns;
    bool in_columns = false;
  };
  detail::logical* node_;
  std::shared_ptr<held> held_ = std::make_shared<held>();
};
// The same tables of what a source shows; of columns, those of their fields.
std::vector<detail::table> parts_of(const detail::logical& source, std::size_t first, std::size_t end);

struct received_plan {
  std::unique_ptr<planner::machine_graph> graph;
  planner::column_options forms;
  struct sent_function {
    std::size_t verb = 0, number = 0;
    std::uint64_t shape = 0;  // of its expression; 0: it had none
  };
  std::vector<sent_function> functions;
  std::vector<planner::vertex*> groups_by_expressions;
  std::vector<received_source> sources;
  std::vector<std::shared_ptr<detail::capture>> captured;  // those that wait for rows
  // What the graph refers to.
  std::vector<std::shared_ptr<detail::logical>> verbs;
  std::deque<std::string> texts;
};
// What a process keeps of its plans from query to query: types, as cached rows have them, and the names of these by their queries' numbers.
class kept_of_plans {
 public:
  ir::type_registry types;
  std::shared_ptr<const void> name_of(std::uint64_t cached);
  void forget(std::span<const std::uint64_t> cached);
  std::mutex lock;  // who reads a plan holds it

 private:
  std::unordered_map<std::uint64_t, std::shared_ptr<const void>> names_;
};
received_plan read_plan(std::span<const std::byte> bytes, const program& here, kept_of_plans& kept);
void complete(received_plan& plan, bool verified);  // of verified queries all functions run as compiled

}  // namespace query::cluster
