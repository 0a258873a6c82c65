// A sort over partitions of the cluster graph: each sends some of its rows, the rows that ranges begin with are chosen of these, and all
// rows go to the partition of their range, where they are sorted. Partitions, one after the other, are then in order.
//
// Rows that the order does not tell apart go to one partition, so that their order stays that of their senders; if all are such, one
// partition has them all. The order is that of the sort itself: NaNs, nulls, directions and the user's own.
//
//   detail::table samples = sample_rows(exchange, kept_rows, 256, context);
//   detail::table begins = begins_of_ranges(exchange, samples, partitions, context);
//   detail::table apart = put_in_ranges(exchange, rows, begins, partitions, context);    // with runtime::partition_bounds
//
// Source: D. J. DeWitt, J. F. Naughton, D. A. Schneider, Parallel Sorting on a Shared-Nothing Architecture using Probabilistic Splitting,
// PDIS 1991.
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// At most `wanted` rows, one from each of as many stretches of about equal length.
detail::table sample_rows(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t wanted, runtime::run_context& context);
// The first rows of ranges after the first one, in order: fewer where samples tie.
detail::table begins_of_ranges(const planner::vertex& v, const detail::table& samples, std::size_t partitions,
                               runtime::run_context& context);
detail::table put_in_ranges(const planner::vertex& v, const detail::table& rows, const detail::table& begins, std::size_t partitions,
                            runtime::run_context& context);

}  // namespace query::cpu
