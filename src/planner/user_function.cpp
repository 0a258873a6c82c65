#include <query/detail/plan.hpp>

#include "planner/trace_memo.hpp"

namespace query::detail {

ir::traced user_function::trace() const {
  if (retrace) {
    planner::trace_memo* const known = held ? nullptr : planner::trace_memo::here();
    return known ? known->trace_of(*this) : retrace(f.get());
  }
  ir::traced t;
  t.reason = "not traced";
  return t;
}

}  // namespace query::detail
