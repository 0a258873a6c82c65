#include <ir/owning_states.hpp>

#include <algorithm>

namespace query::ir {

bool keeps_owned_memory(const group_plan& p, const type& row) {
  return std::any_of(p.calls.begin(), p.calls.end(), [&](const aggregate_call& c) {
    const bool keeps_row = c.what == aggregate_kind::arg_min || c.what == aggregate_kind::arg_max;
    return c.what == aggregate_kind::count_distinct || (c.value && !c.value->trivial) || (keeps_row && !row.trivial);
  });
}

}  // namespace query::ir
