// The ids that a table of keys has given to codes: keys that are codes of dictionaries (dictionary.hpp), or a few of them together, are
// looked up once for each code instead of once for each row.
//
//   if (ids.serves(keys)) unknown = ids.find(first, n, out, numbers);     // numbers of the rows whose codes have no id yet
//   ids.learn(numbers[k], id);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_engine/key_view.hpp"
#include "runtime/buffer_pool.hpp"

namespace query::cpu {

class code_ids {
 public:
  static constexpr std::size_t block = 1024;  // rows of one call

  explicit code_ids(runtime::buffer_pool& pool) : pool_(&pool) {}

  // Are all parts of these n keys codes, and their combinations few beside the keys that there have been? Then the next calls are about
  // them.
  bool serves(key_view keys, std::size_t n);
  // Writes ids, and the numbers of the rows, less `first`, that have none; returns how many these are.
  std::size_t find(std::size_t first, std::size_t n, std::uint32_t* ids, std::uint32_t* unknown);
  // Remembers the id of a row of the last find().
  void learn(std::uint32_t row, std::uint32_t id) { ids_.as<std::uint32_t>()[places_[row]] = id; }
  void forget() { combinations_ = 0; }

 private:
  static constexpr std::size_t most_combinations = std::size_t{1} << 16, most_changes = 16;

  runtime::buffer_pool* pool_;
  key_view keys_;
  std::vector<std::uint64_t> of_;  // dictionaries, by number
  std::size_t combinations_ = 0;  // 0: there are no ids
  std::size_t seen_ = 0, changes_ = 0;
  runtime::buffer ids_;
  std::vector<std::uint32_t> places_;  // of a block; none in the many tables whose keys are no codes
};

}  // namespace query::cpu
