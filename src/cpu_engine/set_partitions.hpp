// distinct, union_with, intersect and except of rows that memory may have no room for.
//
// The rows of each input are put apart by the hash of their key, in a partition_store, which moves them to a temporary file where memory is
// full. Partition by partition, keys go to a table, and rows that are the first with their key to a second store with their positions, from
// which they come in order (positioned_rows.hpp): the rows are those of memory. A partition with more keys than a table may have is read
// several times, each time for some of the hashes.
//
//   return set_as_memory_allows(vertex, tasks, [&](set_inputs& in) { return distinct(in.take(0)); });
#pragma once

#include <vector>

#include "cpu_engine/first_of_keys.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/set_inputs.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// `in_memory` makes the rows out of inputs side by side, where the session has memory for all that it wants.
runtime::vertex_rows set_as_memory_allows(const planner::vertex& v, const vertex_tasks& tasks,
                                          function_ref<detail::table(set_inputs&)> in_memory);

// distinct of rows that come once: `first` have come, next(rows, stay) gives more until it is false, and says whether they stay.
runtime::vertex_rows distinct_beyond_memory(const planner::vertex& v, const vertex_tasks& tasks, std::vector<piece> first,
                                            function_ref<bool(detail::table&, bool&)> next);
// The rest of a distinct or union_with some rows of which have been given, with the keys that are known: of rows that are left.
runtime::vertex_rows rest_of_distinct(const planner::vertex& v, const vertex_tasks& tasks, seen_keys known,
                                      function_ref<bool(detail::table&, bool&)> next);
// May a set of the vertex's rows leave memory?
bool set_may_leave_memory(const planner::vertex& v, const runtime::run_context& context);
// Has it so much of the memory that there was that it should?
bool set_takes_too_much(const runtime::run_context& context, std::size_t used_before);

}  // namespace query::cpu
