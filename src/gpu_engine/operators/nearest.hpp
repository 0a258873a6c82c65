// The nearest row of a captured table for each row of an input, before the verb whose function searches for it
// (nearest_search.hpp): on the tensor cores, near ties compared as written (device/nearest.cuh). And group_by whose key
// is that row's number: sums by label (device/labelled_sums.cuh).
//
//   in = with_nearest(v.inputs.front(), v.node, in, run);       // the answers are a column of `in`, which generated
//   code reads
#pragma once

#include <optional>
#include <string>

#include "gpu_engine/codegen/nearest_search.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

// The same rows, with the answers of the first search beside them; `in` itself where there is none, or none that pays.
// `keyed`: a group_by of the branch's rows, or null.
std::shared_ptr<const device_rows> with_nearest(const planner::branch& b, const detail::logical* keyed,
                                                std::shared_ptr<const device_rows> in, vertex_run& run);

// What explain() says of such a search, "" where there is none.
std::string nearest_note(const planner::branch& b, const detail::logical* keyed);

// The kernels of the search, of rows that lie as `in` says; none where there is no search.
struct search_kernels {
  kernel_source source;
  nearest_search search;
  bool wide = false;  // by wgmma, on sm_90 alone (device/nearest_wide.cuh)
};
std::optional<search_kernels> generate_search(const planner::branch& b, const detail::logical* keyed,
                                              const input_layout& in, bool wide);

// Groups by the answers; null if the key is something else, or the aggregates are not one sum of arrays and a count.
result_rows run_nearest_groups(const planner::vertex& v, const std::shared_ptr<const device_rows>& in, vertex_run& run);
// The same as (key, state) pairs.
std::optional<group_pairs> run_nearest_pairs(const planner::vertex& v, const std::shared_ptr<const device_rows>& in, vertex_run& run);

}  // namespace query::gpu_engine
