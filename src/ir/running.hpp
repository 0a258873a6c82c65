// Where a query was when something went wrong, in the words of the user who wrote it.
//
//   throw resource_error(ir::while_running(e.what(), *v.node));   // "..., while running order_by (plan.cpp:12)"
#pragma once

#include <string>
#include <string_view>

#include <query/detail/plan.hpp>

namespace query::ir {

// The function that the user called: "order_by"; of a source "from", "range", "read_csv(\"sales.csv\")", whatever rows it has.
std::string_view verb_of(const detail::logical& n);

// Adds the verb and its place, unless the text names the verb that ran within this one already.
std::string while_running(std::string what, std::string_view verb, detail::call_site where);
std::string while_running(std::string what, const detail::logical& n);

}  // namespace query::ir
