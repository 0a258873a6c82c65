// Stages that read the columns of a columnar source and give rows. Compiled loops read columns by themselves; all else needs
// one of these before it.
//
//   stages.push_back(interpreted_columns(stage, wanted, context));    // takes the first functions out of `stage`
#pragma once

#include <memory>
#include <vector>

#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

// Columns become rows, a batch at a time. wanted: fields that anyone reads, the others stay empty; empty: all.
std::unique_ptr<prepared_stage> rows_from_columns(const ir::type* row, const std::vector<bool>& wanted);

// Of an interpreted stage: its first tests and a projection after them, interpreted over the columns where they lie; what is left
// stays in `s`. Functions that read their row as a whole get rows.
std::unique_ptr<prepared_stage> interpreted_columns(planner::stage& s, const std::vector<bool>& wanted, runtime::run_context& context);

}  // namespace query::cpu
