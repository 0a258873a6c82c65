// The rows of a branch that come piece by piece, opened; in verify mode, after a look at the first of them.
//
// A generator can be read once in a run, so the run goes on with the very stream that the sample was taken from, first piece
// included: a source gives as many rows, and fails as it does, with and without verify mode. Only verify mode holds streams
// back here; without it open_pieces just opens.
//
//   if (sample_pieces(branch, context, take)) ...      // verify mode
//   std::unique_ptr<row_pieces> rows = open_pieces(branch, context);
#pragma once

#include <memory>

#include "cpu_engine/row_pieces.hpp"
#include "planner/machine_graph.hpp"

namespace query::cpu {

// Does the branch begin with rows that come piece by piece: a source of unknown length, a vertex that hands rows on?
bool comes_in_pieces(const planner::branch& b, const runtime::run_context& context);

std::unique_ptr<row_pieces> open_pieces(const planner::branch& b, runtime::run_context& context);

// Calls take with the first piece, if there is one.
void sample_pieces(const planner::branch& b, runtime::run_context& context, function_ref<void(const detail::table&)> take);

}  // namespace query::cpu
