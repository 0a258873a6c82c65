// Keys that so many of the rows that probe a join have that their partition would do most of the work (cluster/master/leader_joins.cpp).
// Rows that probe with such a key go to all partitions, one stretch of them to each, and the rows of its hash table to every partition.
//
//   const heavy_keys keys{.hashes = {h}, .to_all = false, .before = {0, 70}, .of_all = {10, 900}};
//   keys.place(1, 30);      // the partition of a row with such a key, number 30 of those that this sender has for partition 1
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace query::runtime {

struct heavy_keys {
  std::vector<std::uint64_t> hashes;          // in order; none: all rows go by hash
  bool to_all = false;                        // of the hash table
  // Of those that probe, by the partition of their hash: how many rows the senders before this one have, and how many all have.
  std::vector<std::uint64_t> before, of_all;

  explicit operator bool() const { return !hashes.empty(); }
  bool has(std::uint64_t hash) const { return std::binary_search(hashes.begin(), hashes.end(), hash); }
  // Stretches in the order of senders: rows of one key stay in their order, from one partition to the next.
  std::size_t place(std::size_t partition, std::uint64_t row) const {
    const std::uint64_t all = std::max<std::uint64_t>(of_all[partition], 1), at = std::min(before[partition] + row, all - 1);
    return static_cast<std::size_t>(at * of_all.size() / all);
  }
};

}  // namespace query::runtime
