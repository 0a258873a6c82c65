// The inputs of distinct, union_with, intersect and except side by side, as rows of memory.
//
// Where few keys are distinct, most rows go as they come: of each part of an input only the first row of each key is kept, in the task that
// made the part. So a set of few long texts takes no memory for the others, and no key is kept but those of a part.
//
//   set_inputs inputs(vertex, tasks);
//   input_rows rows = inputs.take(0);    // has the first row of each key, in order, and maybe others
#pragma once

#include <optional>
#include <vector>

#include "cpu_engine/pieces.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Collected when they are asked for, unless they have been before.
class set_inputs {
 public:
  set_inputs(const planner::vertex& v, const vertex_tasks& tasks) : v_(&v), tasks_(&tasks), collected_(v.inputs.size()) {}
  bool collected() const;  // some of them
  void collect(std::size_t i, std::vector<piece> rows);
  input_rows take(std::size_t i);

 private:
  const planner::vertex* v_;
  const vertex_tasks* tasks_;
  std::vector<std::optional<input_rows>> collected_;
};

}  // namespace query::cpu
