// What an engine had done of a vertex whose rows cannot be read twice, when it failed: the CPU goes on from there. The rest of
// the rows is read from run_context::begun.
//
//   throw done_in_part(why, {first_run, second_run});
//   catch (const done_in_part& part) { rows = run_rest(v, part, cpu, context); }
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/errors.hpp>

#include "runtime/local_engine.hpp"

namespace query::runtime {

// Of an order_by, rows behind the row-wise work of its input; of equal ones those of an earlier table come first, and in their order. Of a
// fold, states.
struct done_in_part : resource_error {
  done_in_part(const std::string& why, std::vector<detail::table> t) : resource_error(why), tables(std::move(t)) {}
  std::vector<detail::table> tables;
};

// The vertex over those rows and the rest of them.
vertex_rows run_rest(const planner::vertex& v, const done_in_part& part, local_engine& cpu, run_context& context);

}  // namespace query::runtime
