// Folds of a column of numbers by kernels, behind filters that are predicates of numbers (planner/column_fold.hpp).
//
//   steps.push_back(make_column_fold(branch));   // the only stage of the branch's pipeline
#pragma once

#include <memory>

#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

// The stage of a branch that has a fold; it folds rows and hands none on.
std::unique_ptr<prepared_stage> make_column_fold(const planner::branch& b);

}  // namespace query::cpu
