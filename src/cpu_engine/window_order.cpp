// Rows of a partition by their group and order, and where groups and ties begin.
//
// Keys whose words say all (order_keys) are sorted as such: by the order's words first, then, stably, by the number of the group. Other
// keys are sorted by comparisons, the group's before the order's.
#include <query/detail/window_order.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include <query/detail/known_keys.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/cancellation.hpp"
#include "runtime/scheduler.hpp"

namespace query::detail {
namespace {

using numbers = std::shared_ptr<std::uint32_t[]>;
using sort_keys = std::span<const cpu::sort_key>;

constexpr std::size_t rows_a_look = 4096;

// body(i) for each row, with looks in between.
template <class Body> void each_row(std::size_t first, std::size_t rows, const Body& body) {
  in_runs<rows_a_look>(first, rows, [&](std::size_t i, std::size_t end) {
    for (; i < end; ++i) body(i);
  });
}

// One word a row that says all of its keys; none where keys are too long, are strings, or have the user's own order.
class key_words {
 public:
  key_words(sort_keys keys, std::size_t rows) {
    for (const cpu::sort_key& key : keys)
      if (key.custom.compare) return;
    const cpu::key_encoder encoder(keys, rows);
    if (!encoder.exact() || encoder.bits() > 64) return;
    words_ = std::make_unique_for_overwrite<std::uint64_t[]>(rows);
    if (encoder.bits() == 0) std::fill_n(words_.get(), rows, 0);
    else in_runs<rows_a_look>(0, rows, [&](std::size_t i, std::size_t end) { encoder.encode(i, end - i, words_.get() + i); });
  }
  explicit operator bool() const { return words_ != nullptr; }
  std::uint64_t operator[](std::size_t row) const { return words_[row]; }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
};

bool in_order(sort_keys keys, std::size_t rows) {
  const stop_point stop;
  for (std::size_t i = 1; i < rows; ++i) {
    if (cpu::compare_rows(keys, i - 1, i) > 0) return false;
    if (i % rows_a_look == 0) stop.check();
  }
  return true;
}

// The rows by their words, stably.
numbers sorted_by(const key_words& words, std::size_t rows) {
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  each_row(0, rows, [&](std::size_t i) {
    low = std::min(low, words[i]);
    high = std::max(high, words[i]);
  });
  const numbers sorted(new std::uint32_t[rows]);
  runtime::buffer_pool pool;
  runtime::serial_scheduler alone;
  const runtime::cancel_flag& cancel = runtime::cancel_flag::here();
  const auto row_bits = static_cast<unsigned>(std::bit_width(rows - 1));
  if (static_cast<unsigned>(std::bit_width(high - low)) + row_bits <= 64) {
    const auto pairs = std::make_unique_for_overwrite<std::uint64_t[]>(2 * rows);
    each_row(0, rows, [&](std::size_t i) { pairs[i] = (words[i] - low) << row_bits | i; });
    const std::uint64_t* const by_word = cpu::radix_sort(pairs.get(), pairs.get() + rows, rows, row_bits, alone, pool, cancel);
    const std::uint64_t row = (std::uint64_t{1} << row_bits) - 1;
    each_row(0, rows, [&](std::size_t i) { sorted[i] = static_cast<std::uint32_t>(by_word[i] & row); });
  } else {
    const auto pairs = std::make_unique_for_overwrite<cpu::word_row[]>(2 * rows);
    each_row(0, rows, [&](std::size_t i) { pairs[i] = {words[i], i}; });
    const cpu::word_row* const by_word = cpu::radix_sort(pairs.get(), pairs.get() + rows, rows, 0, alone, pool, cancel);
    each_row(0, rows, [&](std::size_t i) { sorted[i] = static_cast<std::uint32_t>(by_word[i].row); });
  }
  return sorted;
}

// The groups of rows by number, in the order of their first rows.
struct numbered_groups {
  std::unique_ptr<std::uint32_t[]> of_row;
  std::vector<std::uint32_t> sizes;
};
numbered_groups number_groups(const key_words& words, std::size_t rows) {
  constexpr std::uint32_t absent = ~0u;
  numbered_groups groups{std::make_unique_for_overwrite<std::uint32_t[]>(rows), {}};
  std::vector<key_slot<std::uint64_t>> slots(1024, {0, absent});
  std::uint64_t mask = slots.size() - 1;
  const auto slot_of = [&](std::uint64_t word) -> key_slot<std::uint64_t>& {
    for (std::uint64_t i = hash_word(word) & mask;; i = (i + 1) & mask)
      if (slots[i].id == absent || slots[i].word == word) return slots[i];
  };
  each_row(0, rows, [&](std::size_t i) {
    key_slot<std::uint64_t>& slot = slot_of(words[i]);
    if (slot.id == absent) {
      slot = {words[i], static_cast<std::uint32_t>(groups.sizes.size())};
      groups.of_row[i] = slot.id;
      groups.sizes.push_back(1);
      if (2 * groups.sizes.size() > slots.size()) {
        const auto small = std::exchange(slots, std::vector<key_slot<std::uint64_t>>(4 * slots.size(), {0, absent}));
        mask = slots.size() - 1;
        for (const auto& old : small)
          if (old.id != absent) slot_of(old.word) = old;
      }
    } else {
      groups.of_row[i] = slot.id;
      ++groups.sizes[slot.id];
    }
  });
  return groups;
}

}  // namespace

window_order::window_order(const std::vector<window_key>& keys, bool grouped, std::size_t rows) : size_(rows) {
  if (rows > std::numeric_limits<std::uint32_t>::max())
    throw resource_error("over: more than 4294967295 rows in a partition: " + std::to_string(rows));
  if (rows == 0) return;
  std::vector<cpu::sort_key> sort;
  for (const window_key& key : keys)
    sort.push_back({.type = key.type, .base = key.values, .stride = key.type->size, .descending = key.descending,
                    .nulls_first = key.nulls_first, .custom = cpu::order_of(key.custom)});
  const sort_keys all(sort), order = all.subspan(grouped ? 1 : 0), group_key = all.first(grouped ? 1 : 0);
  steps_.resize(rows);
  steps_[0] = group;
  const key_words group_words(group_key, rows), order_words(order, rows);
  if (group_words && order_words) {
    bool ordered = true;
    each_row(1, rows, [&](std::size_t i) { ordered &= order_words[i - 1] <= order_words[i]; });
    numbers sorted = ordered ? nullptr : sorted_by(order_words, rows);
    if (grouped) {
      numbered_groups groups = number_groups(group_words, rows);
      std::uint32_t first = 0;
      for (std::uint32_t& size : groups.sizes) first += std::exchange(size, first);  // where the group's next row goes
      const numbers together(new std::uint32_t[rows]);
      each_row(0, rows, [&](std::size_t i) {
        const std::uint32_t r = sorted ? sorted[i] : static_cast<std::uint32_t>(i);
        together[groups.sizes[groups.of_row[r]]++] = r;
      });
      sorted = together;
    }
    owner_ = sorted;
    rows_ = sorted.get();
    each_row(1, rows, [&](std::size_t i) {
      const std::size_t before = row(i - 1), here = row(i);
      steps_[i] = group_words[before] != group_words[here] ? group : order_words[before] != order_words[here] ? tie : same;
    });
    return;
  }
  // Rows that lie in order, as events do, need no sort but that by group, which is stable.
  const bool ordered = in_order(order, rows);
  const sort_keys by = ordered ? group_key : all;
  if (!by.empty() && !(ordered && in_order(group_key, rows))) {
    runtime::buffer_pool pool;
    runtime::serial_scheduler alone;
    const runtime::cancel_flag& cancel = runtime::cancel_flag::here();
    auto sorted = std::make_shared<cpu::permutation>(cpu::sort_rows(by, rows, alone, pool, cancel));
    sorted->visit([&](const auto* ids) {
      if constexpr (std::is_same_v<decltype(ids), const std::uint32_t*>) rows_ = ids;
    });
    owner_ = std::move(sorted);
  }
  each_row(1, rows, [&](std::size_t i) {
    const std::size_t before = row(i - 1), here = row(i);
    steps_[i] = grouped && cpu::compare_rows(group_key, before, here) != 0   ? group
                : !order.empty() && cpu::compare_rows(order, before, here) != 0 ? tie
                                                                                : same;
  });
}

}  // namespace query::detail
