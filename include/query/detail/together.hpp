// Several queries as one plan: its last node looks at the rows of each, as a function looks at those of a query that it captured
// (query::broadcast). So they are parts of one machine graph, and what they have in common is one part of it. The node itself computes
// nothing: who runs the plan takes the rows of each query to where its user wants them.
//
//   const query_state all = together(parts);
//   run_together(all, takers);                 // as many as there are parts
#pragma once

#include <cstdint>
#include <span>

#include <query/detail/query_state.hpp>

namespace query::detail {

struct part_of_run {
  pipe rows;
  settings how;
};
// Run as each of them wants to be run. Throws user_error where two of them name different sessions.
query_state together(std::span<const part_of_run> queries);
// The same for query::report, whose queries read every row of their sources.
query_state together_for_report(std::span<const part_of_run> queries);
bool are_together(const logical& n);
bool are_for_report(const logical& n);

// Where the rows of a query go: the calls get `to`.
struct rows_taker {
  void* to = nullptr;
  void (*reserve)(void* to, std::uint64_t n) = nullptr;    // told before the first rows, if their number is known
  bool (*append)(void* to, const row_block& b) = nullptr;  // false: no more
  void* (*room)(void* to, std::uint64_t n) = nullptr;      // for n rows that are assigned in parallel instead; null: they are appended
};
// Errors name the query by its number, from 1 on; those of report do not, as its queries are not the user's.
void run_together(const query_state& all, std::span<const rows_taker> to);

}  // namespace query::detail
