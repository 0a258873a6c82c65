// The sets of keys that rollup, cube and grouping_sets group by, as numbers of keys and as bits (verbs/grouping_sets.hpp).
//
//   rollup_sets(2);                                              // {{0, 1}, {0}, {}}
//   sets_of_bits({{0, 1}, {1}, {}}, 2, "group_by", at);          // 3, 2, 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <query/detail/call_site.hpp>

namespace query::detail {

using key_numbers = std::vector<std::vector<int>>;
key_numbers rollup_sets(std::size_t keys);
key_numbers cube_sets(std::size_t keys);
// Bit i of a set: key i is in it. A user_error where a number is that of no key, and where there is no set.
std::vector<std::uint32_t> sets_of_bits(const key_numbers& sets, std::size_t keys, const char* verb, call_site at);

}  // namespace query::detail
