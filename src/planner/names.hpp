// Names of verbs and places, as explain(), notes of rules and messages write them.
#pragma once

#include <string>

#include <query/detail/plan.hpp>

namespace query::planner {

// "take(10)"; "top (order_by_descending)" where the user's verb is made of others.
std::string verb_of(const detail::logical& n);
// "plan.cpp:12", without folders: the same on every machine.
std::string place_of(const detail::call_site& at);
// An expression, cut where it gets longer; captured collections are numbered by appearance: slots differ from run to run.
inline constexpr std::size_t longest_shown = 120;
std::string shown(const ir::traced& t, std::size_t longest = longest_shown);

}  // namespace query::planner
