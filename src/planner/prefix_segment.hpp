// The first verbs of a compiled loop as rows of their own. No loop was compiled for these alone: the planner runs their functions one after
// the other (form::thunks).
//
//   pipe rows = prefix_of(loop, *verb);   // the rows after that verb of the loop
#pragma once

#include <query/detail/plan.hpp>

namespace query::planner {

// Can the verb run by itself, as a call for a batch of rows? All verbs of a prefix have to.
bool runs_alone(const detail::logical& n);
detail::pipe prefix_of(const detail::pipe& loop, const detail::logical& last);
bool is_prefix(const detail::segment& s);

}  // namespace query::planner
