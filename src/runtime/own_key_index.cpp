// Keys found by the user's equality and hash, out of line for to_lookup and to_map (include/query/lookup.hpp).
#include <algorithm>

#include <query/detail/stop.hpp>
#include <query/lookup.hpp>

#include "runtime/progress.hpp"

namespace query::detail {

namespace {
// Of the time that an index takes, for reports of progress; sorting hashes is between them.
constexpr double share_of_hashes = 0.4, share_until_duplicates = 0.6;
}  // namespace

own_key_index::own_key_index(key_calls calls, std::size_t n, function_ref<const void*(std::size_t)> key_at) : calls_(std::move(calls)) {
  std::vector<std::uint64_t> hashes(n);
  runtime::progress* const meter = runtime::progress::after_query;
  in_runs(0, n, [&](std::size_t i, std::size_t end) {
    for (; i < end; ++i) hashes[i] = hash(key_at(i));
    if (meter) meter->part_is_at(share_of_hashes * static_cast<double>(end) / static_cast<double>(n));
  });
  order_ = sorted_positions(n, [&](std::size_t a, std::size_t b) { return hashes[a] < hashes[b]; });
  for (const std::size_t i : order_) hashes_.push_back(hashes[i]);
}

std::size_t own_key_index::find(const void* key, function_ref<const void*(std::size_t)> key_at) const {
  const auto [first, last] = std::equal_range(hashes_.begin(), hashes_.end(), hash(key));
  for (auto at = first; at != last; ++at) {
    const std::size_t i = order_[static_cast<std::size_t>(at - hashes_.begin())];
    if (calls_.equal(calls_.context.get(), key_at(i), key)) return i;
  }
  return nowhere;
}

bool own_key_index::duplicate(function_ref<const void*(std::size_t)> key_at) const {
  // The first key of each that is equal to it, among those with its hash.
  const stop_point stop;
  runtime::progress* const meter = runtime::progress::after_query;
  const double share_of_one = (1 - share_until_duplicates) / static_cast<double>(order_.size());
  std::size_t looked_up = 0;
  for (const std::size_t i : order_) {
    stop.check();
    if (find(key_at(i), key_at) != i) return true;
    if (meter && ++looked_up % calls_a_look == 0)
      meter->part_is_at(share_until_duplicates + share_of_one * static_cast<double>(looked_up));
  }
  return false;
}

}  // namespace query::detail
