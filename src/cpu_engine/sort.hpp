// order_by: rows in the order of their keys, or the first few of them.
//
//   runtime::vertex_rows rows = order_rows(vertex, context);   // vertex.limit rows, in order; ties keep their order
#pragma once

#include <query/detail/failure.hpp>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Fewer rows than this are kept while the input streams by; more, and the whole input is collected and sorted.
inline constexpr std::uint64_t few_rows = 1 << 14;

runtime::vertex_rows order_rows(const planner::vertex& v, runtime::run_context& context);

// Numbers that are their own keys, all of which are wanted, need neither keys nor row numbers.
bool sorts_values(const detail::logical& order, const ir::type* row);

// Calls for one key of an order: what is found wrong in the function of a then_by has its own place.
template <class Call> decltype(auto) placed_at(const detail::order_key& key, Call call) {
  try {
    return call();
  } catch (const detail::unplaced_error& e) {
    if (key.verb.empty()) throw;
    detail::fail(key.verb, e.what(), key.where);
  }
}

}  // namespace query::cpu
