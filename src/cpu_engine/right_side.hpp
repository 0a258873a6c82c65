// Joins whose right rows have to fit in memory, as cross_join, join_where and asof_join: what they say where these do not.
//
//   with_right_side(join, [&] { return collect_input(v, 1, tasks).table; })
#pragma once

#include <string>

#include <query/errors.hpp>

#include "ir/running.hpp"

namespace query::cpu {

// Errors name the join, whichever verb reads its rows.
template <class Call> auto with_right_side(const detail::logical& join, Call call) {
  try {
    return call();
  } catch (const resource_error& e) {
    throw resource_error(ir::while_running(std::string(e.what()) + "; all rows of the right side have to fit, so filter them first", join));
  }
}

}  // namespace query::cpu
