// Which work of the suite's accelerated queries is planned for the CPU, and why: placements.csv, test by test. What is not in it runs on a
// GPU, so that a vertex that a change of the planner or of code generation moves to the CPU shows in a difference of this file.
//
// QUERY_UPDATE_PLACEMENTS=1 query_conformance_tests writes it anew, on a machine without a GPU.
#pragma once

#include <set>
#include <string>

namespace conformance {

// `left`: "verb: reason" of what the test's queries left to the CPU.
void check_placements(const std::string& test, const std::set<std::string>& left);

}  // namespace conformance
