// The order of groups by integers. Tables, partitions, lanes of a perfect hash and files all give it, so that neither the number of
// threads nor memory, which choose among these, can be seen in a result: few groups come in the order of their first appearance, others
// by the upper bits of their hashes, and then in that order.
//
//   const unsigned bits = bits_of_groups(groups);
//   table = in_order_of_hashes(std::move(table), make_table, *node, bits);      // groups of a table, which are in the order of appearance
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <query/detail/function_ref.hpp>

#include "cpu_engine/group_table.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// Up to so many groups are few. If they are more, tables of 64 parts may have too many together to be merged in their order.
inline constexpr std::size_t few_groups = 1 << 8;

// Of hashes, for about so many groups.
constexpr unsigned least_order_bits = 6, most_order_bits = 12;
constexpr unsigned order_bits(double groups) {
  return groups < (1u << 22) ? least_order_bits : groups < (1u << 26) ? 8 : groups < (1u << 30) ? 10 : most_order_bits;
}

// Which of 2^bits buckets the groups of a hash come in.
constexpr std::size_t bucket_of(std::uint64_t hash, unsigned bits) { return bits ? static_cast<std::size_t>(hash >> (64 - bits)) : 0; }

// Groups whose keys are single values, moved to a new table.
std::unique_ptr<group_table> in_order_of_hashes(std::unique_ptr<group_table> groups,
                                                function_ref<std::unique_ptr<group_table>()> make_table, const detail::logical& n,
                                                unsigned bits);

}  // namespace query::cpu
