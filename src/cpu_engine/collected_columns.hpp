// The rows of a branch that runs over columns, kept as columns: what lies in memory stays there and is selected by row number, computed
// values are copied. For verbs that give the same rows again: concat, zip, sets.
//
//   auto rows = collect_columns_of(v.inputs[0], v.captures, context);
//   if (rows) use(std::move(rows->pieces));        // of a column_list
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cpu_engine/column_list.hpp"
#include "cpu_engine/key_runs.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

struct collected_columns {
  planner::column_schema schema;  // of the pieces
  std::vector<column_list::piece> pieces;
  std::vector<std::shared_ptr<const void>> sources;

  std::uint64_t rows() const;
  void take(collected_columns&& more);  // behind these
  std::shared_ptr<column_list> list(const ir::type* row) const { return std::make_shared<column_list>(row, schema, pieces, sources); }
};

// Returns nothing if the rows do not stay where they are, or if the session's memory has no room for what is kept of them: functions of
// the branch may then be called twice. most: so many rows are wanted; there may be more.
std::optional<collected_columns> collect_columns_of(const planner::branch& b, const std::vector<planner::binding>& captures,
                                                    runtime::run_context& context, std::uint64_t most = ~0ull);

// The same pieces with the columns of `to`, each of which one of their columns holds (planner::shared_schema).
void regroup_columns(collected_columns& rows, const planner::column_schema& to);

// Rows [first, first + n) of a piece.
column_list::piece part_of(const column_list::piece& p, std::size_t first, std::size_t n);
// From the last row on.
void reverse_rows(collected_columns& rows, const vertex_tasks& tasks);
// Of all rows those with these numbers, which ascend.
void select_rows(collected_columns& rows, const permutation& numbers, const vertex_tasks& tasks);

// The keys of collected rows: where they lie, or computed. The rows must outlive them.
class collected_keys {
 public:
  collected_keys(const detail::user_function& f, key_equality custom, const collected_columns& rows, const vertex_tasks& tasks);
  const key_runs& runs() const { return runs_; }

 private:
  bool add_in_place(const detail::user_function& f, const collected_columns& rows);

  key_runs runs_;
  std::optional<rows_buffer> computed_;
};

// Makes pieces of batches that come in order. A batch whose columns do not select from where those before did begins another piece.
class piece_sink final : public column_sink {
 public:
  piece_sink(const planner::column_schema& schema, runtime::buffer_pool& pool);
  ~piece_sink() override;
  void push(const column_batch& b) override;
  std::vector<column_list::piece> take();

 private:
  struct memory;
  bool continues(const column_batch& b);
  void begin(const column_batch& b);
  void append(const column_batch& b);
  void finish();

  const planner::column_schema* schema_;
  runtime::buffer_pool* pool_;
  std::vector<column_list::piece> pieces_;
  std::shared_ptr<memory> open_;
};

}  // namespace query::cpu
