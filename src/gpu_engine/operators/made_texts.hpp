// Verbs whose keys, arguments or results make strings. Their kernels run once, where new strings may want a second run with more room
// (collect.cpp): so a pass before makes what keys and arguments give, as a column beside the rows, which the verb reads in their place;
// and results are made behind, of what the verb gives instead: the pairs of a join, or the key and the aggregates of a group.
//
//   group_by([](auto t) { return to_lower(t.name); })   becomes   rows, collected | a column to_lower(name) | group_by that column
#pragma once

#include <memory>
#include <vector>

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

class made_texts {
 public:
  // Null: no function of the verb makes strings, or one is opaque, which planning reports.
  static std::unique_ptr<const made_texts> of(const detail::logical& n);

  // The verb over rows with the columns, and what it gives before results are made.
  const detail::logical& verb() const { return *verb_; }

  // Of input number `side`, whose rows lie side by side: itself where nothing is made of it.
  void plan_values(std::size_t side) const;
  std::shared_ptr<const device_rows> with_values(std::size_t side, std::shared_ptr<const device_rows> rows, vertex_run& run) const;
  const ir::type* row(std::size_t side) const { return rows_.at(side)->row; }
  planner::branch input(std::size_t side) const;  // such rows as a branch, for planning

  // Results of what the verb gave: itself where they make no strings.
  void plan_results() const;
  result_rows results(result_rows rows, vertex_run& run) const;

 private:
  class writer;
  struct values {
    std::shared_ptr<const detail::logical> rows, maker;  // what is read; a select of all values
    std::size_t offset = 0;                              // of the column, behind the row
  };

  static planner::branch made_by(const detail::logical& rows, const detail::logical& maker);

  std::shared_ptr<const detail::logical> verb_;
  std::vector<std::shared_ptr<const detail::logical>> rows_;  // of the inputs, with their columns
  std::vector<values> values_;                                // of the inputs; maker null: none
  std::shared_ptr<const detail::logical> maker_;              // of results; null: none
};

// A whole vertex. Its inputs, whatever they are, lie side by side before anything is made.
void plan_with_texts(const planner::vertex& v, const made_texts& texts);
result_rows run_with_texts(const planner::vertex& v, const made_texts& texts, vertex_run& run);

}  // namespace query::gpu_engine
