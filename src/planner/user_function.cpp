#include <query/detail/plan.hpp>

namespace query::detail {

ir::traced user_function::trace() const {
  if (retrace) return retrace(f.get());
  ir::traced t;
  t.reason = "not traced";
  return t;
}

}  // namespace query::detail
