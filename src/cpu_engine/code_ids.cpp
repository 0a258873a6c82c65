#include "cpu_engine/code_ids.hpp"

#include <algorithm>
#include <cstring>

#include "cpu_engine/dictionary.hpp"
#include "cpu_engine/key_tables.hpp"

namespace query::cpu {

bool code_ids::serves(key_view keys, std::size_t n) {
  if (keys.empty() || !std::ranges::all_of(keys, [](const key_part& p) { return p.coded != nullptr; })) return false;
  keys_ = keys;
  const auto known = [](const key_part& p, std::uint64_t number) { return p.coded->number() == number; };
  if (combinations_ && std::ranges::equal(keys, of_, known)) return true;
  seen_ += n;
  std::size_t combinations = 1;
  for (const key_part& p : keys) {
    combinations *= p.coded->size();
    if (combinations > std::min(most_combinations, seen_)) return false;
  }
  if (!combinations || ++changes_ > most_changes) return false;
  combinations_ = 0;
  ids_ = pool_->allocate_array<std::uint32_t>(combinations);
  of_.clear();
  for (const key_part& p : keys) of_.push_back(p.coded->number());
  std::memset(ids_.data(), 0xff, combinations * sizeof(std::uint32_t));
  combinations_ = combinations;
  return true;
}

std::size_t code_ids::find(std::size_t first, std::size_t n, std::uint32_t* ids, std::uint32_t* unknown) {
  places_.resize(block);
  std::copy_n(keys_[0].select + first, n, places_.data());
  for (const key_part& p : keys_.subspan(1)) {
    const auto size = static_cast<std::uint32_t>(p.coded->size());
    const std::uint32_t* const codes = p.select + first;
    for (std::size_t i = 0; i < n; ++i) places_[i] = places_[i] * size + codes[i];
  }
  const auto* const known = ids_.as<const std::uint32_t>();
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ids[i] = known[places_[i]];
    unknown[count] = static_cast<std::uint32_t>(i);
    count += ids[i] == no_id;
  }
  return count;
}

}  // namespace query::cpu
