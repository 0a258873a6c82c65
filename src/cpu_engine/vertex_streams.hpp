// Vertices that hand their rows on as they come (vertex::streamed) instead of making a table: their input may have no end.
//
// A pipeline that reads such a vertex opens it and takes piece after piece; the vertex reads its own inputs no further than it
// must for the next piece. Pieces are computed in parallel inside; their rows are those, and in the order, of the table.
//
//   std::unique_ptr<row_pieces> rows = open_vertex(vertex, context);
#pragma once

#include <memory>
#include <vector>

#include "cpu_engine/row_pieces.hpp"
#include "cpu_engine/row_prefix.hpp"

namespace query::cpu {

// Throws internal_error for a verb that cannot (planner/streams.cpp knows which can).
std::unique_ptr<row_pieces> open_vertex(const planner::vertex& v, runtime::run_context& context);

// The verbs' own, each beside its table form: runs.cpp, sets.cpp, combine.cpp, join_rows.cpp.
std::unique_ptr<row_pieces> stream_of_runs(const planner::vertex& v, runtime::run_context& context);
std::unique_ptr<row_pieces> stream_of_distinct(const planner::vertex& v, runtime::run_context& context);
std::unique_ptr<row_pieces> stream_of_zip(const planner::vertex& v, runtime::run_context& context);
std::unique_ptr<row_pieces> stream_of_pairs(const planner::vertex& v, runtime::run_context& context);

// What all of them need: the vertex's tasks, and its inputs one after the other, each opened when it is reached.
class vertex_input {
 public:
  vertex_input(const planner::vertex& v, runtime::run_context& context) : v_(&v), tasks_(context, v.captures) {}
  const vertex_tasks& tasks() const { return tasks_; }
  bool next(detail::table& rows);
  // The rows were made for this vertex alone.
  bool fresh() const { return !now_->is_table(); }

 private:
  const planner::vertex* v_;
  vertex_tasks tasks_;
  std::size_t reached_ = 0;
  std::unique_ptr<row_prefix> now_;
};

}  // namespace query::cpu
