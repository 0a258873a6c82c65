// Names of verbs and places, as explain(), notes of rules and messages write them.
#pragma once

#include <string>

#include <query/detail/plan.hpp>

namespace query::planner {

// "plan.cpp:12", without folders: the same on every machine.
std::string place_of(const detail::call_site& at);
// An expression, cut where it gets long; captured collections are numbered by appearance: slots differ from run to run.
std::string shown(const ir::traced& t);

}  // namespace query::planner
