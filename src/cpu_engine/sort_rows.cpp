#include "cpu_engine/sort_rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <query/detail/stop.hpp>

#include "cpu_engine/merge_sort.hpp"
#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/string_sort.hpp"

namespace query::cpu {
namespace {

constexpr std::size_t chunk_rows = std::size_t{1} << 16;
constexpr std::size_t block_rows = 1024;
constexpr std::size_t most_counted = std::size_t{1} << 16;  // rows: their words, counts and ids lie in a core's cache
constexpr std::size_t large_run = std::size_t{1} << 16;  // ties so many are sorted by all threads

struct environment {
  std::span<const sort_key> keys;
  const key_encoder& encoder;
  std::size_t rows;
  runtime::scheduler& scheduler;
  runtime::buffer_pool& pool;
  const runtime::cancel_flag& cancel;

  // Calls f(begin, end) for chunks of [0, n), side by side.
  template <class F>
  void chunks(std::size_t n, F&& f) const {
    scheduler.for_each((n + chunk_rows - 1) / chunk_rows,
                       [&](std::size_t c) { f(c * chunk_rows, std::min(n, (c + 1) * chunk_rows)); }, cancel);
  }
};

// Finds the runs of elements that `same` holds for in the sorted array and gives those of two or more to `resolve`; large
// ones come last, one by one, with `parallel` set.
template <class Same, class Resolve>
void for_each_run(const environment& env, const Same& same, const Resolve& resolve) {
  std::mutex mutex;
  std::vector<std::pair<std::size_t, std::size_t>> large;
  env.chunks(env.rows, [&](std::size_t begin, std::size_t end) {
    while (begin > 0 && begin < end && same(begin - 1, begin)) ++begin;  // the run belongs to the chunk where it begins
    for (std::size_t i = begin; i < end;) {
      std::size_t j = i + 1;
      while (j < env.rows && same(j - 1, j)) ++j;
      if (j - i > large_run) {
        const std::lock_guard lock(mutex);
        large.emplace_back(i, j);
      } else if (j - i > 1) {
        resolve(i, j, false);
      }
      i = j;
    }
  });
  for (const auto& [begin, end] : large) resolve(begin, end, true);
}

// Puts rows that the words leave tied into the order of the whole keys. `word(i)` is the i-th element's word.
template <class WordAt>
void compare_ties(const environment& env, permutation& rows, const WordAt& word) {
  rows.visit([&](auto* ids) {
    using id = std::remove_pointer_t<decltype(ids)>;
    const auto less = [&, looked = detail::stop_point(env.cancel.state())](id a, id b) {
      looked.check();
      return compare_rows(env.keys, a, b) < 0;
    };
    const auto cut = env.encoder.cut_string();
    for_each_run(env, [&](std::size_t i, std::size_t j) { return word(i) == word(j); },
                 [&](std::size_t begin, std::size_t end, bool parallel) {
      if (env.encoder.decides(word(begin))) return;
      if (cut && end - begin > string_sorter<id>::few) {
        runtime::serial_scheduler alone;
        string_sorter<id> strings(env.keys, *cut, parallel ? env.scheduler : alone, env.pool, env.cancel);
        strings.sort(ids + begin, end - begin);
        return;
      }
      if (!parallel) {
        if (!std::is_sorted(ids + begin, ids + end, less)) std::stable_sort(ids + begin, ids + end, less);
        return;
      }
      const runtime::buffer spare = env.pool.allocate_array<id>(end - begin);
      merge_sort(ids + begin, spare.as<id>(), end - begin, less, env.scheduler, env.cancel);
    });
  });
}

// Rows as (word, id) pairs.
template <class Element, class MakeWord>
permutation sort_pairs(const environment& env, const MakeWord& fill) {
  const std::size_t n = env.rows;
  const runtime::buffer first = env.pool.allocate_array<Element>(n), second = env.pool.allocate_array<Element>(n);
  env.chunks(n, [&](std::size_t begin, std::size_t end) { fill(begin, end, first.as<Element>()); });
  const Element* sorted =
      radix_sort(first.as<Element>(), second.as<Element>(), n, 0, env.scheduler, env.pool, env.cancel);
  permutation rows(n, n, env.pool);
  rows.visit([&](auto* ids) {
    using id = std::remove_pointer_t<decltype(ids)>;
    env.chunks(n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ids[i] = static_cast<id>(sorted[i].row);
    });
  });
  if (!env.encoder.exact()) compare_ties(env, rows, [&](std::size_t i) { return sorted[i].word; });
  return rows;
}

// Sorts ids[0, n) by their words: rows whose leading bits tied.
template <class Id>
void sort_run(const environment& env, Id* ids, std::size_t n, const std::uint64_t* words, bool parallel) {
  const auto less = [&](Id a, Id b) { return words[a] < words[b]; };
  if (std::is_sorted(ids, ids + n, less)) return;
  if (n <= 64) {
    for (std::size_t i = 1; i < n; ++i) {
      const Id id = ids[i];
      std::size_t j = i;
      for (; j > 0 && words[id] < words[ids[j - 1]]; --j) ids[j] = ids[j - 1];
      ids[j] = id;
    }
    return;
  }
  runtime::serial_scheduler alone;
  const runtime::buffer room = env.pool.allocate_array<word_row>(2 * n);
  word_row* pairs = room.as<word_row>();
  for (std::size_t i = 0; i < n; ++i) pairs[i] = {words[ids[i]], ids[i]};
  const word_row* sorted =
      radix_sort(pairs, pairs + n, n, 0, parallel ? env.scheduler : alone, env.pool, env.cancel);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<Id>(sorted[i].row);
}

// Rows by the values of words that are few, in one pass: a counting sort.
permutation sort_counted(const environment& env, const std::uint64_t* words, std::uint64_t low, std::uint64_t high) {
  const std::size_t n = env.rows, values = static_cast<std::size_t>(high - low) + 1;
  const runtime::buffer counts = env.pool.allocate_array<std::uint32_t>(values + 1);
  auto* const next = counts.as<std::uint32_t>();
  std::fill_n(next, values + 1, 0u);
  for (std::size_t i = 0; i < n; ++i) ++next[words[i] - low + 1];
  for (std::size_t v = 1; v < values; ++v) next[v] += next[v - 1];
  permutation rows(n, n, env.pool);
  rows.visit([&](auto* ids) {
    using id = std::remove_pointer_t<decltype(ids)>;
    for (std::size_t i = 0; i < n; ++i) ids[next[words[i] - low]++] = static_cast<id>(i);
  });
  return rows;
}

// Rows whose words are the numbers from `low` on, each once, as the numbers of rows are; nothing, if one is there twice.
std::optional<permutation> place_numbers(const environment& env, const std::uint64_t* words, std::uint64_t low) {
  permutation rows(env.rows, env.rows, env.pool);
  std::atomic<bool> twice = false;
  rows.visit([&](auto* ids) {
    using id = std::remove_pointer_t<decltype(ids)>;
    constexpr id nobody = ~id{0};
    env.chunks(env.rows, [&](std::size_t begin, std::size_t end) { std::fill(ids + begin, ids + end, nobody); });
    env.chunks(env.rows, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        std::atomic_ref<id>(ids[words[i] - low]).store(static_cast<id>(i), std::memory_order_relaxed);
    });
    env.chunks(env.rows, [&](std::size_t begin, std::size_t end) {
      if (std::find(ids + begin, ids + end, nobody) != ids + end) twice = true;
    });
  });
  if (twice) return std::nullopt;
  return rows;
}

// Words of up to 64 bits. As many of their leading bits as fit go into one word with the row id, which halves what the
// sort moves; rows that these bits leave tied are then sorted by all bits.
permutation sort_packed(const environment& env) {
  const std::size_t n = env.rows;
  const runtime::buffer encoded = env.pool.allocate_array<std::uint64_t>(n);
  std::uint64_t* words = encoded.as<std::uint64_t>();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges((n + chunk_rows - 1) / chunk_rows);
  env.chunks(n, [&](std::size_t begin, std::size_t end) {
    env.encoder.encode(begin, end - begin, words + begin);
    const auto [low, high] = std::minmax_element(words + begin, words + end);
    ranges[begin / chunk_rows] = {*low, *high};
  });
  std::uint64_t low = ranges[0].first, high = ranges[0].second;
  for (const auto& [l, h] : ranges) {
    low = std::min(low, l);
    high = std::max(high, h);
  }
  if (env.encoder.exact() && n <= most_counted && high - low < 2 * n) return sort_counted(env, words, low, high);
  if (env.encoder.exact() && high - low == n - 1)
    if (auto rows = place_numbers(env, words, low)) return std::move(*rows);
  const auto row_bits = static_cast<unsigned>(std::bit_width(n - 1));
  const auto word_bits = static_cast<unsigned>(std::bit_width(high - low));
  const unsigned dropped = word_bits + row_bits > 64 ? word_bits + row_bits - 64 : 0;
  // Not where too few bits would be left to tell the rows apart, and not in two steps where a third one must compare.
  if (row_bits == 0 || dropped >= 40 || (dropped > 0 && !env.encoder.exact()))
    return sort_pairs<word_row>(env, [&](std::size_t begin, std::size_t end, word_row* out) {
      for (std::size_t i = begin; i < end; ++i) out[i] = {words[i], i};
    });
  const runtime::buffer first = env.pool.allocate_array<std::uint64_t>(n), second = env.pool.allocate_array<std::uint64_t>(n);
  std::uint64_t* packed = first.as<std::uint64_t>();
  env.chunks(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) packed[i] = (words[i] - low) >> dropped << row_bits | i;
  });
  const std::uint64_t* sorted =
      radix_sort(packed, second.as<std::uint64_t>(), n, row_bits, env.scheduler, env.pool, env.cancel);
  const std::uint64_t row_mask = (std::uint64_t{1} << row_bits) - 1;
  permutation rows(n, n, env.pool);
  rows.visit([&](auto* ids) {
    using id = std::remove_pointer_t<decltype(ids)>;
    env.chunks(n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ids[i] = static_cast<id>(sorted[i] & row_mask);
    });
    if (dropped > 0)
      for_each_run(env, [&](std::size_t i, std::size_t j) { return (sorted[i] ^ sorted[j]) <= row_mask; },
                   [&](std::size_t begin, std::size_t end, bool parallel) {
        sort_run(env, ids + begin, end - begin, words, parallel);
      });
    if (!env.encoder.exact()) compare_ties(env, rows, [&](std::size_t i) { return words[sorted[i] & row_mask]; });
  });
  return rows;
}

permutation identity(const environment& env) {
  permutation rows(env.rows, env.rows, env.pool);
  env.chunks(env.rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) rows.set(i, i);
  });
  return rows;
}

}  // namespace

permutation sort_rows(std::span<const sort_key> keys, std::size_t n, runtime::scheduler& scheduler,
                      runtime::buffer_pool& pool, const runtime::cancel_flag& cancel) {
  const key_encoder encoder(keys, n);
  const environment env{keys, encoder, n, scheduler, pool, cancel};
  if (n == 0) return {};
  if (encoder.bits() == 0) {
    permutation rows = identity(env);
    if (!encoder.exact()) compare_ties(env, rows, [](std::size_t) { return std::uint64_t{~0ull}; });
    return rows;
  }
  if (encoder.bits() <= 64) return sort_packed(env);
  return sort_pairs<wide_word_row>(env, [&](std::size_t begin, std::size_t end, wide_word_row* out) {
    wide_word words[block_rows];
    for (std::size_t i = begin; i < end; i += block_rows) {
      const std::size_t m = std::min(block_rows, end - i);
      encoder.encode(i, m, words);
      for (std::size_t j = 0; j < m; ++j) out[i + j] = {words[j], i + j};
    }
  });
}

}  // namespace query::cpu
