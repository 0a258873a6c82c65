// The groups of a table as columns of the result: keys where they lie, aggregates as they come out, and what the function of the group_by
// computes of them.
//
//   const group_results results(v, context);
//   pieces.push_back(results.of(std::move(table)));
#pragma once

#include <memory>

#include "cpu_engine/column_list.hpp"
#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/group_table.hpp"
#include "planner/machine_graph.hpp"

namespace query::cpu {

class group_results {
 public:
  // A vertex that gives columns.
  group_results(const planner::vertex& v, runtime::run_context& context);

  // There is a group at least.
  column_list::piece of(std::unique_ptr<group_table> groups) const;

 private:
  const planner::vertex* vertex_;
  runtime::buffer_pool* pool_;
  column_projector projector_;
};

}  // namespace query::cpu
