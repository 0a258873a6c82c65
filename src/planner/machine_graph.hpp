// The machine graph: what one machine runs for a query. Vertices are pipelines that end in a breaker; edges are tables.
//
// A vertex reads its inputs through row-wise stages and gives one table. The executor (src/runtime) runs these very objects,
// in order; each names the engine that runs it and why. Loops hold the vertices of their body; those that do not depend on
// the loop's variable run once.
//
//   v2 group_by  <- [ source trades | stage where, select (native) ]
//   v3 collect   <- [ v2 | ]                                              the query's result
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/session.hpp>

#include "ir/group_function.hpp"

namespace query {
struct vertex_profile;
}

namespace query::planner {

using detail::logical;
using detail::pipe;

struct vertex;
struct column_fold;  // column_fold.hpp
struct projection;   // projection.hpp

// How a row-wise piece runs.
enum class form : std::uint8_t {
  native,       // the fused segment that the user's compiler made
  thunks,       // native batch calls, one function at a time
  interpreted,  // expressions, by the vectorised interpreter; functions without one as thunks
  columns,      // expressions over columns; fields are renamed and never copied (column_forms.hpp)
};

// A predicate that rows meet before their stages: pushed down from above. Native if it takes the same row type where it
// was written, else the traced expression, rewritten for this row type.
struct prefilter {
  const detail::user_function* function = nullptr;
  ir::traced expression;
  const logical* from = nullptr;  // the where it came from, which keeps its test unless `from_removed`
  bool interpreted = false;       // `function` runs by the interpreter
};

struct stage {
  enum class kind : std::uint8_t { rowwise, probe } what = kind::rowwise;
  // rowwise
  std::shared_ptr<const detail::segment> native;  // null: nodes run as thunks or interpreted
  std::vector<const logical*> nodes;              // covered verbs, in the order of execution
  form how = form::native;
  bool speculate = false;                         // functions may run on rows that a filter rejects
  std::shared_ptr<const column_fold> fold;        // the last stage of a fold that kernels run over columns (choose_columns)
  // probe: rows meet the hash table of a join's build side
  const logical* join = nullptr;
  vertex* build = nullptr;
  bool build_left = false;                        // the left input is the build side (inner joins: the smaller one)
  bool any_order = false;                         // of pairs: an inner join whose engine may swap the sides
  bool ordered = false;                           // pairs come in the order of the left rows: as_ordered() was said
  bool checks = false;                            // its form was chosen by a session that checks, for what divides integers
  // In sessions that interpret, why the function of each node, or each function of the join, runs natively; empty: it does not. In
  // sessions that check, why integer divisions of that function are not checked; empty: they are, or there are none.
  std::vector<std::string> native_because;

  const ir::type* in = nullptr;
  const ir::type* out = nullptr;
};

// One stream of rows into a vertex: where they come from and what happens to each on the way.
struct branch {
  const logical* source = nullptr;  // a source or placeholder node...
  vertex* table = nullptr;          // ...or the table of another vertex
  std::vector<prefilter> prefilters;
  std::vector<stage> stages;
  std::vector<bool> wanted;         // top-level fields of the source that anyone reads; empty: all
  const ir::type* row = nullptr;    // after the stages
  int number = 0;                   // of the branch in its graph; copies keep it
  const void* part_of = nullptr;    // a share of a divided vertex: the vertex that was planned
  bool by_field = false;            // records in memory are read as columns, one for each field, where they lie (choose_columns)
};

// A collection captured by functions of this vertex: bound to the table of another vertex, or to a loop variable.
struct binding {
  std::uint64_t slot = 0;
  vertex* table = nullptr;
};

// How the rows of a vertex get to other partitions (cluster_graph.hpp): all to the first, all to each, each to that of its key's hash, or
// to that of its place in an order.
enum class exchange : std::uint8_t { gather, broadcast, hash, range };
std::string_view name_of(exchange way);

// One engine of those that run a divided vertex at once.
struct engine_share {
  std::string engine;
  double share = 0;  // of the rows, that it is expected to take
  int threads = 1;   // of the session's that it has meanwhile
};

// Of a vertex, as an engine that was asked about it expects them: its own, and the CPU's.
struct expected_seconds {
  double there = 0, cpu = 0;
};

struct vertex {
  const logical* node = nullptr;        // the breaker; null: rows are collected as they come, or folded
  std::vector<branch> inputs;
  std::vector<binding> captures;
  std::string engine = "cpu";
  std::string why;                      // the reason for the engine
  std::optional<expected_seconds> expected = {};  // of the engine that was asked last, without compiling
  std::vector<engine_share> shares;     // where several engines run it at once ("split")
  std::uint64_t limit = ~0ull;          // only so many rows are wanted (top-k, limit)
  std::vector<std::uint64_t> slots;     // loop variables that this vertex depends on, through its inputs too
  bool accelerated = false;             // as_accelerated() was said here or below
  bool ordered = false;                 // as_ordered() was said here or above, through verbs that keep order
  bool interpreted = false;             // traced functions of the breaker run by the interpreter; notes name the others
  bool streamed = false;                // no table: its reader takes rows as they come (mark_streams)
  bool may_stream = false;              // the same, where memory has no room for the table
  bool over_columns = false;            // takes its rows as columns (choose_columns): group_by, aggregate, order_by, right and full joins
  bool in_place = false;                // does not run: the joins that build on it read its source's columns (choose_columns)
  bool kept_if_it_fits = false;         // a table if memory allows; else each reader computes its rows as they come
  int partitions = 1;                   // in which it runs: in the first, or in all
  int variable_partitions = 1;          // do_while: in which its variable lies between rounds (loop_partitions.hpp)
  std::optional<exchange> moves = {};   // it is an exchange: the partitions that it runs in send their rows
  // Of an exchange by hash of the rows that a join's hash table is made of: the exchange of the rows that probe it, which runs next. Where
  // the rows prove to be few as they are about to be sent, each partition gets all of them, and those that probe stay where they are, if
  // they are in all partitions. Where many of those that probe have one key, they are spread, and the rows that they look up go to each.
  vertex* probing = nullptr;
  const logical* sent_for = nullptr;    // of such an exchange, and of one of rows for group_by: the verb that the last run tells of it
  bool cut_off = false;                 // its table is made for the sake of an engine alone that takes this part, or the next
  std::shared_ptr<const ir::group_plan> group_function;  // group_by, aggregate: run by these expressions; null: as compiled
  std::shared_ptr<const projection> gives_columns;     
  std::vector<bool> wanted;             // source_file: fields that anyone reads; empty: all
  std::vector<std::string> notes;       // what rules did here
  // do_while
  std::vector<vertex*> body;            // vertices run again each round, in order
  std::vector<vertex*> test;            // those of the condition
  branch body_result, test_result;
  std::vector<const vertex*> kept_for_rounds;  // computed once before the first (hoist_invariants)

  int number = -1;                      // of its record in the profile of a run; copies keep it
  std::string ran;                      // what the last run of it did, for explain()
  std::shared_ptr<const vertex_profile> observed;  // the same in numbers

  // The terminal verb's fold of the rows that its input gives: a table of states (runtime/fold_states.hpp) instead of rows.
  std::optional<detail::fold_kind> folds = {};

  const ir::type* row() const;
};

// An exchange that runs the verb over the rows of its partition, and sends what it knows of groups instead of rows.
inline bool sends_states(const vertex& v) {
  return v.moves && v.node && (v.node->what == detail::verb::group_by || v.node->what == detail::verb::aggregate);
}
inline bool merges_states(const vertex& v) {  // of such an exchange
  return v.inputs.size() == 1 && v.inputs.front().table && sends_states(*v.inputs.front().table);
}

struct machine_graph {
  std::vector<std::unique_ptr<vertex>> vertices;  // in an order in which inputs come first; bodies of loops before their loop
  std::vector<const vertex*> top;                 // the vertices to run in order, without those that loops run
  branch result;                                  // what the terminal verb reads
  std::string result_engine = "cpu";              // whose loops its stages are, as engine_of_forms has it
  std::vector<binding> captures;                  // of the result's stages
  int partitions = 1;                             // of the cluster graph; and those in which the result's rows are folded
  int result_partitions = 1;
  std::string processes;                          // the cluster whose processes run them; empty: all are in this process
  std::string transport;                          // how rows get from one to another
  std::vector<std::shared_ptr<const logical>> verbs;  // that no user wrote
  std::string terminal;
  std::vector<std::string> notes;
  std::string no_gpu;                             // why there is none for what is accelerated; "": there is one, or none was wanted
  pipe root;                                      // keeps the logical plan alive
  std::string result_ran;                         // what the last run of the terminal verb did, for explain()
  std::shared_ptr<const vertex_profile> result_observed;
  std::unique_ptr<vertex> fold;                   // what the terminal verb folds, where engines were asked about it; null: the CPU does
};

struct plan_options {
  bool interpret = false;             // prefer the interpreter over native code for traced functions
  bool rewrite = true;                // apply the rules of src/planner/rules
  bool verify = false;                // traced and compiled functions will be compared: none takes the other's place
  bool checked = false;               // integer divisions of traced functions are checked: those that divide are interpreted
  bool separate_result = false;       // row-wise work before the terminal is a vertex, so that any engine may take it
  detail::settings settings = {};     // how the query wants to be run; captured queries must not want more
  std::string gpu_status = "no GPU engine asked";  // why there is none; "" if there is one
};

// Splits a logical plan into vertices. Throws user_error for what cannot be: a placeholder outside its loop, a function
// under must_trace that does not trace, require_gpu() without a GPU.
std::unique_ptr<machine_graph> make_machine_graph(const pipe& root, std::string terminal, const plan_options& options);

// How the terminal verb reads the result: as a whole, as a fold that keeps no row, all rows in order, as far as its user goes, as columns,
// or all rows of each partition in order, where they are.
enum class reading : std::uint8_t { whole, folded, in_order, on_demand, columns, written };
// What a terminal verb folds, as a vertex that engines may be asked about. It is none of the graph's.
vertex fold_vertex(const machine_graph& g, detail::fold_kind kind);
// Marks the vertices whose rows are handed on as they come. After the vertices have been placed on engines.
void mark_streams(machine_graph& g, reading how);
bool hands_on(detail::verb what);  // can give its first rows before it has seen the last

// Whose loops the stages of a vertex or of a fold are: "cpu", "gpu", or "split" where a GPU has a share.
std::string engine_of_forms(std::string_view engine, const std::vector<engine_share>& shares);

// The plan as people read it; as DOT; as JSON.
std::string explain(const machine_graph& g);
std::string explain_dot(const machine_graph& g);
std::string explain_json(const machine_graph& g);

}  // namespace query::planner
