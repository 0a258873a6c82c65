#include "cpu_engine/key_ranges.hpp"

#include <algorithm>

#include "cpu_engine/sort_rows.hpp"

namespace query::cpu {

namespace {
constexpr std::size_t batch = 1024;
}

key_ranges::key_ranges(std::vector<rows_buffer> sample, std::span<const sort_key> keys, std::size_t wanted, runtime::scheduler& scheduler,
                       runtime::buffer_pool& pool, const runtime::cancel_flag& cancel)
    : sample_(std::move(sample)), keys_(keys.begin(), keys.end()) {
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    keys_[k].base = sample_[k].data();
    keys_[k].stride = keys_[k].type->size;
  }
  const std::size_t n = sample_.empty() ? 0 : sample_.front().size();
  const permutation order = sort_rows(keys_, n, scheduler, pool, cancel);
  wanted = std::min({wanted, most, n});
  for (std::size_t r = 1; r < wanted; ++r) {
    const std::size_t row = order[r * n / wanted];
    if (!bounds_.empty() && compare_rows(keys_, bounds_.back(), row) == 0) {
      of_bound_.back() = true;
      continue;
    }
    bounds_.push_back(row);
    of_bound_.push_back(false);
  }
  for (const bool own : of_bound_) {
    range_of_.push_back(static_cast<std::uint16_t>(ties_.size()));
    ties_.push_back(false);
    if (own) ties_.push_back(true);
  }
  range_of_.push_back(static_cast<std::uint16_t>(ties_.size()));
  ties_.push_back(false);
  const key_encoder encoder(keys_);
  for (const std::size_t row : bounds_) {
    if (encoder.bits() <= 64) encoder.encode(row, 1, &words_.emplace_back());
    else encoder.encode(row, 1, &wide_words_.emplace_back());
  }
}

void key_ranges::find(std::span<const sort_key> keys, std::size_t n, std::uint16_t* to) const {
  const key_encoder encoder(keys);
  if (encoder.bits() <= 64) find_words<std::uint64_t>(encoder, keys, n, to);
  else find_words<wide_word>(encoder, keys, n, to);
}

template <class Word>
void key_ranges::find_words(const key_encoder& encoder, std::span<const sort_key> keys, std::size_t n, std::uint16_t* to) const {
  Word words[batch];
  for (std::size_t from = 0; from < n; from += batch) {
    const std::size_t k = std::min(batch, n - from);
    encoder.encode(from, k, words);
    for (std::size_t i = 0; i < k; ++i) {
      bool equal = false;
      const std::size_t b = first_not_below(words[i], encoder.decides(words[i]), keys, from + i, equal);
      to[from + i] = static_cast<std::uint16_t>(range_of_[b] + (equal && of_bound_[b]));
    }
  }
}

// The first bound that is not below the row's key.
template <class Word>
std::size_t key_ranges::first_not_below(const Word& word, bool decided, std::span<const sort_key> keys, std::size_t row,
                                        bool& equal) const {
  const std::span<const Word> all = bounds(Word{});
  const Word* at = all.data();
  for (std::size_t left = all.size(); left > 0;) {
    const std::size_t half = (left + 1) / 2;
    if (at[half - 1] < word) at += half;
    left -= half;
  }
  const auto b = static_cast<std::size_t>(at - all.data());
  if (b == all.size() || all[b] != word) return b;
  equal = true;
  if (decided) return b;
  const auto tied = std::span(bounds_).subspan(b, static_cast<std::size_t>(std::upper_bound(at, all.data() + all.size(), word) - at));
  const auto found = std::partition_point(tied.begin(), tied.end(), [&](std::size_t s) { return compare_rows(keys_, s, keys, row) < 0; });
  equal = found != tied.end() && compare_rows(keys_, *found, keys, row) == 0;
  return b + static_cast<std::size_t>(found - tied.begin());
}

}  // namespace query::cpu
