// top_k of sort_rows.hpp: each part of the rows keeps its best k, cutting its candidates back whenever they are twice as
// many; rows beyond the worst one kept are dropped by one comparison of words, blocks of them by one loop without branches.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu_engine/sort_rows.hpp"

namespace query::cpu {
namespace {

constexpr std::size_t block_rows = 1024;

// Word: std::uint64_t where the encoder's words have no more bits, else wide_word.
template <class Word> class candidates {
  struct candidate {
    Word word;
    std::size_t row;
  };

 public:
  candidates(std::span<const sort_key> keys, const key_encoder& encoder, std::size_t k)
      : keys_(keys), encoder_(encoder), k_(k), most_(std::max(2 * k, k + block_rows)) {}

  void add(const Word* words, std::size_t first_row, std::size_t n) {
    if (full_ && !std::ranges::count_if(words, words + n, [worst = worst_](const Word& w) { return w <= worst; })) return;
    for (std::size_t i = 0; i < n; ++i) {
      if (full_ && words[i] > worst_) continue;
      best_.push_back({words[i], first_row + i});
      if (best_.size() == most_) cut();
    }
  }
  void add(const candidates& other) {
    for (const candidate& c : other.best_)
      if (!full_ || c.word <= worst_) {
        best_.push_back(c);
        if (best_.size() == most_) cut();
      }
  }

  const std::vector<candidate>& finish() {
    if (best_.size() > k_) cut();
    std::sort(best_.begin(), best_.end(), [this](const candidate& a, const candidate& b) { return before(a, b); });
    return best_;
  }

 private:
  // A total order, in which earlier rows win ties: the result is the same however the rows are divided.
  bool before(const candidate& a, const candidate& b) const {
    if (a.word != b.word) return a.word < b.word;
    if (!encoder_.decides(a.word))
      if (const int c = compare_rows(keys_, a.row, b.row)) return c < 0;
    return a.row < b.row;
  }

  void cut() {
    const auto end = best_.begin() + static_cast<std::ptrdiff_t>(k_);
    std::nth_element(best_.begin(), end - 1, best_.end(), [this](const candidate& a, const candidate& b) { return before(a, b); });
    worst_ = (end - 1)->word;
    full_ = true;
    best_.erase(end, best_.end());
  }

  std::span<const sort_key> keys_;
  const key_encoder& encoder_;
  std::size_t k_, most_;
  std::vector<candidate> best_;
  Word worst_{};
  bool full_ = false;
};

permutation first_of(const permutation& all, std::size_t k, std::size_t rows, runtime::buffer_pool& pool) {
  permutation result(k, rows, pool);
  for (std::size_t i = 0; i < k; ++i) result.set(i, all[i]);
  return result;
}

template <class Word>
permutation best_of(const key_encoder& encoder, std::span<const sort_key> keys, std::size_t n, std::size_t k, runtime::scheduler& scheduler,
                    runtime::buffer_pool& pool, const runtime::cancel_flag& cancel) {
  const std::size_t part_rows = std::max({std::size_t{1} << 16, 8 * k, n / (8 * static_cast<std::size_t>(scheduler.concurrency())) + 1});
  std::vector<candidates<Word>> parts((n + part_rows - 1) / part_rows, candidates<Word>(keys, encoder, k));
  scheduler.for_each(parts.size(), [&](std::size_t p) {
    Word words[block_rows];
    for (std::size_t i = p * part_rows, end = std::min(n, i + part_rows); i < end; i += block_rows) {
      const std::size_t m = std::min(block_rows, end - i);
      encoder.encode(i, m, words);
      parts[p].add(words, i, m);
      cancel.check();
    }
  }, cancel);
  for (std::size_t p = 1; p < parts.size(); ++p) {
    cancel.check();
    parts[0].add(parts[p]);
  }
  const auto& best = parts[0].finish();
  permutation result(k, n, pool);
  for (std::size_t i = 0; i < k; ++i) result.set(i, best[i].row);
  return result;
}

}  // namespace

permutation top_k(std::span<const sort_key> keys, std::size_t n, std::size_t k, runtime::scheduler& scheduler,
                  runtime::buffer_pool& pool, const runtime::cancel_flag& cancel) {
  k = std::min(k, n);
  if (k == 0) return {};
  if (k > n / 16) return first_of(sort_rows(keys, n, scheduler, pool, cancel), k, n, pool);

  const key_encoder encoder(keys, n);
  return encoder.bits() <= 64 ? best_of<std::uint64_t>(encoder, keys, n, k, scheduler, pool, cancel)
                              : best_of<wide_word>(encoder, keys, n, k, scheduler, pool, cancel);
}

}  // namespace query::cpu
