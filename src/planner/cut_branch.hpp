// Cutting a branch in two: what rows meet first becomes a vertex of its own, whose table the rest reads.
//
//   branch first = cut_branch(reader.inputs[0], 1, 2, &made);   // one stage and two verbs of the next; the input begins at made's table
#pragma once

#include <set>

#include "planner/machine_graph.hpp"

namespace query::planner {

using slot_set = std::set<std::uint64_t>;

// The collections that a function captured: its copies know those by value, its trace those by reference.
slot_set captured_by(const detail::user_function& f);
slot_set captured_by(const logical& n);
slot_set captured_by(const prefilter& f);

// May a stage be cut between its verbs? They are then called one after the other, in batches.
bool can_cut(const stage& s);
// Takes the first `stages` stages, and `verbs` verbs of the next, off the branch, which begins at the table from then on.
branch cut_branch(branch& b, std::size_t stages, std::size_t verbs, vertex* table);

// The variables of loops that a branch and captured collections depend on.
std::vector<std::uint64_t> slots_of(const branch& b, const std::vector<binding>& captures);

}  // namespace query::planner
