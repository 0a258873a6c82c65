// How many rows there will be, judged from a plan before anything runs: containers, ranges and captured collections are counted, what
// filters, groups and streams give is guessed; what filters gave in an earlier run of the same query is known.
//
//   row_counts rows;  rows.begin_loop(loop);
//   if (const auto n = rows.of(vertex)) ...     // nothing where nobody can know
#pragma once

#include <optional>
#include <unordered_map>

#include "planner/machine_graph.hpp"

namespace query::runtime {

// Half of the rows pass a filter, one in eight is a group of its own: guesses, where the plan does not say. A stream is taken for a
// long one, a row of a file for a hundred bytes.
inline constexpr double rows_that_pass = 0.5, rows_a_group = 8, elements_looked_through = 16, rows_of_a_stream = 1 << 24,
                        bytes_of_a_file_row = 100;

// Is its number of rows known, and each of them by its number?
inline bool is_counted(const detail::logical& source) { return source.what == detail::verb::source_stream && source.count > 0; }

class row_counts {
 public:
  std::optional<double> of(const planner::vertex& v);
  std::optional<double> of_source(const planner::branch& b);
  // Behind the stages up to `end`; behind all of them.
  std::optional<double> behind(const planner::branch& b, std::size_t end);
  std::optional<double> behind(const planner::branch& b) { return behind(b, b.stages.size()); }

  // The variable of a loop keeps the number of rows that it begins with, as far as anybody knows: so do k-means and PageRank.
  void begin_loop(const planner::vertex& loop);
  // Of a collection that functions capture: the rows of a vertex, or a container of the host's.
  std::optional<double> of_captured(std::uint64_t slot, const std::vector<planner::binding>& captures) const;
  void captured(std::uint64_t slot, std::size_t size) { containers_[slot] = static_cast<double>(size); }

 private:
  std::optional<double> count(const planner::vertex& v);
  double groups_of(const planner::vertex& v, double rows);

  std::unordered_map<const planner::vertex*, std::optional<double>> vertices_;
  std::unordered_map<std::uint64_t, double> variables_, containers_;
};

}  // namespace query::runtime
