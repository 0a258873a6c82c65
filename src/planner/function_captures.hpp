// The collections that a user function captures, which the planner binds to tables.
//
//   for (const auto& c : captured_collections(node, node.functions[0], options.settings)) bind(*c);
#pragma once

#include <memory>
#include <vector>

#include <query/detail/binding.hpp>
#include <query/detail/plan.hpp>
#include <query/session.hpp>

namespace query::planner {

// The trace of a verb's function. must_trace throws what tracing said; the plan knows where the function stands.
ir::traced trace_of(const detail::logical& n, const detail::user_function& f);

// Those copied into the function, and those that its trace names (captures by reference). Throws user_error for a query captured by
// reference whose settings want more than those of the query, and for a device function made for other records.
using captured_list = std::vector<std::shared_ptr<const detail::capture>>;
captured_list captured_collections(const detail::logical& n, const detail::user_function& f, const detail::settings& settings);

}  // namespace query::planner
