// One device function for all row-wise work of a branch: pushed-down predicates, where, select, up to the next breaker.
//
//   input_layout in = wanted_columns(branch, true);          // what must be on the device
//   row_function f = generate_rows(k, branch, in, 0);
//   // __device__ bool rows_0(const words& p, u64 i, T0& out): false if row i is filtered out
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpu_engine/codegen/expressions.hpp"
#include "planner/machine_graph.hpp"

namespace query::gpu_engine {

// How the rows of an input lie on the device: columns, each a part of the row. One column at offset 0 that is the row
// itself stands for whole rows.
struct input_column {
  std::size_t offset = 0;
  const ir::type* type = nullptr;
  bool counted = false;  // integers that follow one another, in no memory: the first of them stands where the address would
};
struct nearest_search;
struct input_layout {
  const ir::type* row = nullptr;
  std::vector<input_column> columns;
  // A search whose answers are one of the columns: the low words of as many u64 (nearest_search.hpp). Null: none.
  std::shared_ptr<const nearest_search> nearest = nullptr;
  std::uint32_t nearest_column = 0;
};

// Every top-level field of a row.
std::vector<bool> all_fields(const ir::type* row);
// Rows of an input as functions read them: row number `number`.
row_source input_rows(kernel_source& k, const input_layout& in, std::uint32_t input, const std::string& number);

const ir::type* source_row(const planner::branch& b);

// `fields` of the source without those that nobody reads (branch::wanted). Rows that are made whole without them have zeros there.
std::vector<bool> fields_wanted(const planner::branch& b, std::vector<bool> fields);

// The top-level fields of the source that the branch's functions read; with `whole`, those of its result too that somebody reads; with
// `above`, those that expressions over its result (row 0) read.
std::vector<bool> fields_read(const planner::branch& b, bool whole, std::span<const ir::node* const> above = {});

// The statements that take row number `i` of an input through a branch, and where its fields are then. A filter returns
// false. Throws not_generated with the reason if a function of the branch has no form on the device.
struct row_pipeline {
  std::string body;
  row_source row;
  bool filters = false;
  bool loops = false;  // expressions::loops
};
row_pipeline generate_pipeline(kernel_source& k, const planner::branch& b, const input_layout& in, std::uint32_t input);

// A device function around it, `bool name(const words& p, u64 i, Row& out)`. Without `result`, `out` is not written: rows are
// counted. With `once`, its kernel has one call of it where it loops, and it is inlined there.
struct row_function {
  std::string name;
  const ir::type* out = nullptr;
  bool filters = false;  // may return false
  bool loops = false;    // as row_pipeline's
};
row_function generate_rows(kernel_source& k, const planner::branch& b, const input_layout& in, std::uint32_t input, bool result = true,
                           bool once = false);

// How a function that is called for each row of a tile is declared. A tile's rows are unrolled, twice (whole tiles and the last one), where
// a loop would take seconds to compile; and loops of several rows do not overlap anyway. So functions with loops are called, unless the
// kernel does not unroll its rows then (reduce_loops_policy, compact_loops_policy): a called function reads its words and constants
// through memory, again and again.
inline std::string inlining(bool loops) { return loops ? "__noinline__" : "__forceinline__"; }

// A function of one row: `R name(const words& p, const Row& row)`. `verb` and `where` name it in errors.
std::string generate_function(kernel_source& k, const ir::traced& t, const ir::type* row, const std::string& verb, detail::call_site where);

}  // namespace query::gpu_engine
