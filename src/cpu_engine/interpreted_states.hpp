// Runs functions of groups from their expressions alone. The vectorised interpreter computes the arguments of the aggregates, each
// aggregate keeps a column of states, and the finishing expression combines the key with the results of these columns.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu_engine/group_states.hpp"
#include "cpu_engine/interpreter.hpp"
#include "planner/interpretation.hpp"

namespace query::cpu {

class distinct_spill;

// The compiled expressions of one function of groups; shared by the tables of all tasks.
class group_expressions {
 public:
  // f: the function, which says what collections it captured. row: the type of the rows that are grouped. columns: rows may also come as
  // these columns. gives_columns: finish() is not needed.
  group_expressions(const ir::group_plan& plan, const detail::user_function& f, const ir::type* row,
                    const planner::column_schema* columns = nullptr, bool gives_columns = false);

  struct call {
    ir::aggregate_call what;
    std::shared_ptr<const interpreter::program> argument;                         // null: there is none
    std::optional<planner::column_part> part;                                     // the argument is a part of a column
    std::shared_ptr<const interpreter::program> seed, update, combine, finish;    // custom
    std::shared_ptr<distinct_spill> spill;                                        // count_distinct of all rows; null: it stays in memory
  };
  const std::vector<call>& calls() const { return calls_; }
  // If all rows are one group: count_distinct writes values to files when memory runs short.
  void spill_distinct(runtime::run_context& context);
  const interpreter::program& finish() const { return *finish_; }
  const ir::node* key() const { return plan_.key; }
  const ir::type* key_type() const { return plan_.key ? plan_.key->type : nullptr; }
  const ir::type* row() const { return row_; }
  const planner::captured& captures() const { return captures_; }

 private:
  ir::group_plan plan_;
  planner::captured captures_;
  const ir::type* row_;
  std::vector<call> calls_;
  std::optional<interpreter::program> finish_;
};

// Returns null if values of the type cannot be written to files.
std::shared_ptr<distinct_spill> make_distinct_spill(const ir::aggregate_call& call, runtime::run_context& context);

std::unique_ptr<group_states> make_interpreted_states(std::shared_ptr<const group_expressions> expressions, runtime::buffer_pool& pool);

}  // namespace query::cpu
