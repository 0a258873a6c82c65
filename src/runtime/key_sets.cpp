// The sets of keys that rollup, cube and grouping_sets group by.
#include <query/detail/key_sets.hpp>

#include <string>

#include <query/detail/failure.hpp>

namespace query::detail {

namespace {

std::vector<int> first_keys(std::size_t n) {
  std::vector<int> set;
  for (std::size_t i = 0; i < n; ++i) set.push_back(static_cast<int>(i));
  return set;
}

}  // namespace

key_numbers rollup_sets(std::size_t keys) {
  key_numbers sets;
  for (std::size_t n = keys + 1; n-- > 0;) sets.push_back(first_keys(n));
  return sets;
}

key_numbers cube_sets(std::size_t keys) {
  key_numbers sets;
  for (std::uint32_t left_out = 0; left_out < std::uint32_t{1} << keys; ++left_out) {
    std::vector<int>& set = sets.emplace_back();
    for (std::size_t i = 0; i < keys; ++i)  // the last key is left out first
      if ((left_out >> (keys - 1 - i) & 1u) == 0) set.push_back(static_cast<int>(i));
  }
  return sets;
}

std::vector<std::uint32_t> sets_of_bits(const key_numbers& sets, std::size_t keys, const char* verb, call_site at) {
  if (sets.empty()) fail(verb, "grouping_sets names no set; all rows as one group are the set of no keys: grouping_sets({{}}, key)", at);
  std::vector<std::uint32_t> all;
  for (const std::vector<int>& set : sets) {
    std::uint32_t bits = 0;
    for (const int key : set) {
      if (key < 0 || static_cast<std::size_t>(key) >= keys)
        fail(verb, "grouping_sets names key " + std::to_string(key) + ", and keys have the numbers 0 to " + std::to_string(keys - 1), at);
      bits |= std::uint32_t{1} << key;
    }
    all.push_back(bits);
  }
  return all;
}

}  // namespace query::detail
