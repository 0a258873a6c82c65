// Terminal verbs by name, for explain("first"): what each makes of the query, and how it reads the result.
//
//   const terminal_plan t = terminal_plan_of(pipe, "first", at);   // take(1) of the rows, read on demand
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <query/detail/plan.hpp>

#include "planner/machine_graph.hpp"

namespace query::runtime {

struct terminal_plan {
  detail::pipe pipe;
  planner::reading how = planner::reading::in_order;
  std::optional<detail::fold_kind> fold = {};
};

// "": rows in order. Throws user_error for a name that is no terminal verb, and for a verb whose argument is missing: that is
// there if the pipe's last node is labelled with the verb.
terminal_plan terminal_plan_of(const detail::pipe& rows, std::string_view terminal, detail::call_site at);

// What count() counts: rows that are as many. The lists of window(n) are as many as the rows behind the first n - 1, and none is made.
detail::pipe rows_to_count(const detail::pipe& rows);

// A query as its user has it, without the verbs that terminal verbs add: first() takes one row.
struct user_query {
  const detail::logical* last = nullptr;
  std::string added;  // " first": the terminal verbs that added some
};
user_query user_query_of(const detail::logical& last);

// For an argument that the verb does not take.
[[noreturn]] void refuse_argument(std::string_view terminal, detail::call_site at);

}  // namespace query::runtime
