// Names of verbs and places, as explain(), notes of rules and messages write them.
#pragma once

#include <string>

#include <query/detail/failure.hpp>
#include <query/detail/plan.hpp>

namespace query::planner {

// "take(10)"; "top (order_by_descending)" where the user's verb is made of others.
std::string verb_of(const detail::logical& n);
using detail::place_of;
// An expression, cut where it gets longer; captured collections are numbered by appearance: slots differ from run to run.
inline constexpr std::size_t longest_shown = 120;
std::string shown(const ir::traced& t, std::size_t longest = longest_shown);

}  // namespace query::planner
