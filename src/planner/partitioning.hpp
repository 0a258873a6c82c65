// Do rows lie in the partitions that a verb wants them in? Then no exchange moves them.
//
// Rows that an exchange by hash, or a group_by behind one, has put apart stay where they are through verbs that look at rows one by one,
// distinct and sets, and the probe sides of joins. A key is followed back through these by its trace: through selects by what they make of
// the row, through joins by the side that it is a part of, through group_by by the place of the key in the result. It must come out as the
// key that the rows were put apart by; or, for verbs that want rows of equal keys in one partition and nothing else, as a key that has
// that one as a part.
//
//   distinct_by(symbol) of group_by(symbol)                          wants no exchange
//   group_by(pair(symbol, day)) of a join on symbol                  neither
//
// What cannot be proven is exchanged: functions that do not trace, that compute with floats (which may be rounded in two ways), that read
// captured collections; in loops, those with constants, which may be captured variables that change; keys of the user's own equality.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "planner/machine_graph.hpp"

namespace query::planner {

enum class wanted_rows : std::uint8_t {
  by_hash,   // each in the partition of its key's hash: joins and sets, whose other rows come from elsewhere
  together,  // equal keys in one partition
};

// By slot: the key by whose hash the variable of a loop lies in partitions.
using variable_keys = std::unordered_map<std::uint64_t, const detail::user_function*>;

// Of rows after the first `stages` stages of the branch, which runs in all partitions.
bool lie_right(const branch& b, std::size_t stages, const detail::user_function& key, wanted_rows wanted, bool in_loop,
               const variable_keys& of_loops);

// Does the function give the same key for the same row in each round of a loop?
bool is_fixed(const detail::user_function& key);

}  // namespace query::planner
