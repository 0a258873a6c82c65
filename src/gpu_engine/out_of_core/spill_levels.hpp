// Partitions of partitions, where the groups of one do not fit the device: what group_stream and state_stream share.
#pragma once

#include <algorithm>
#include <optional>

#include <query/errors.hpp>

#include "gpu_engine/out_of_core/host_partitions.hpp"

namespace query::gpu_engine {

// Other bits than those that place a key in a table, and others on each level.
constexpr std::uint64_t seed_of_level(std::uint32_t level) { return 0x2545f4914f6cdd1dull * (2 * level + 1); }

// What leaves the device or arrives there at once where nothing else is to be had; room for some pairs and rows, however long.
inline std::size_t bytes_of_reserve(std::size_t budget, std::size_t pair_bytes, std::size_t row_bytes) {
  constexpr std::size_t least = std::size_t{16} << 10, most = std::size_t{256} << 10, pieces_of_budget = 64, values = 4;
  return std::max({std::clamp(budget / pieces_of_budget, least, most), values * pair_bytes, values * row_bytes});
}

// The parts of one level are put together, each or several at a time; what does not fit is spilled to parts of the next level. When that is
// done spills go to where they went before.
class spill_level {
 public:
  spill_level(std::uint32_t level, std::optional<host_partitions>*& spilled_to, std::uint64_t& seed)
      : level_(level), spilled_to_(spilled_to), seed_(seed), before_(spilled_to), seed_before_(seed) {
    // Each part has 1/256 of the keys of the level before, as long as their hashes are not equal.
    if (level > 8) throw resource_error("query: group_by: too many keys with the same hash: their groups do not fit the GPU's memory");
  }
  ~spill_level() {
    spilled_to_ = before_;
    seed_ = seed_before_;
  }
  spill_level(const spill_level&) = delete;
  spill_level& operator=(const spill_level&) = delete;

  void spill_to(std::optional<host_partitions>& parts) {
    spilled_to_ = &parts;
    seed_ = seed_of_level(level_);
  }
  // Small parts are worked on together: each costs some waits for the device. Fewer on each level, for what did not fit together does not
  // fit together on the next one either.
  std::uint64_t together(std::uint64_t room) const { return room >> (level_ - 1); }

 private:
  std::uint32_t level_;
  std::optional<host_partitions>*& spilled_to_;
  std::uint64_t& seed_;
  std::optional<host_partitions>* before_;
  std::uint64_t seed_before_;
};

}  // namespace query::gpu_engine
