// Building of asof_table.hpp. asof_finder.cpp looks up.
#include "cpu_engine/asof_table.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>

#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/sort_rows.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t block = 1024;            // rows looked at in a core's cache
constexpr std::uint64_t large_run = 1u << 15;  // is sorted by all threads
constexpr std::size_t short_run = 64;          // is sorted on the stack

// Whether words that come in parts, side by side, ascend.
class ascent {
 public:
  explicit ascent(std::size_t parts) : ends_(parts) {}
  struct part {
    std::uint64_t first = 0, last = 0;
    bool any = false;
  };
  void add(part& p, std::uint64_t word) {
    if (!p.any) p.first = word;
    else if (word < p.last) broken_.store(true, std::memory_order_relaxed);
    p.any = true;
    p.last = word;
  }
  void set(std::size_t number, const part& p) { ends_[number] = p; }
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  bool holds() const {
    const part* before = nullptr;
    for (const part& p : ends_) {
      if (!p.any) continue;
      if (before && p.first < before->last) return false;
      before = &p;
    }
    return !broken();
  }

 private:
  std::vector<part> ends_;
  std::atomic<bool> broken_{false};
};

}  // namespace

asof_table::asof_table(const asof_options& how, const ir::type* type, const void* values, std::size_t stride, std::size_t n,
                       const vertex_tasks& tasks)
    : how_(how),
      type_(type),
      time_(type->k == ir::kind::record ? type->field_list[1].of : type),
      time_at_(type->k == ir::kind::record ? type->field_list[1].offset : 0),
      key_at_(type->k == ir::kind::record ? type->field_list[0].offset : 0) {
  const auto* const at = static_cast<const std::byte*>(values);
  if (n == 0) return;
  if (type->k == ir::kind::record) sort_runs(at, stride, n, tasks);
  else sort_all(at, stride, n, tasks);
}

// Without a key.
void asof_table::sort_all(const std::byte* times, std::size_t stride, std::size_t n, const vertex_tasks& tasks) {
  ascent order(chunks_of(n));
  std::atomic<bool> all_timed{true};
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::uint64_t words[block];
    std::uint8_t timeless[block];
    ascent::part part;
    for (std::size_t from = 0; from < k && !order.broken(); from += block) {
      const std::size_t m = std::min(block, k - from);
      if (!time_.words(times + (first + from) * stride, stride, m, words, timeless)) return all_timed.store(false);
      for (std::size_t i = 0; i < m; ++i) order.add(part, words[i]);
    }
    order.set(first / part_rows, part);
  });
  if (all_timed && order.holds()) {
    n_ = n;
    if (time_.read_in_place() && stride == sizeof(std::uint64_t)) {
      in_place_ = times;
      return;
    }
    words_ = tasks.pool().allocate_array<std::uint64_t>(n);
    tasks.chunks(n, [&](std::size_t first, std::size_t k) {
      std::uint8_t timeless[block];
      for (std::size_t from = first; from < first + k; from += block)
        time_.words(times + from * stride, stride, std::min(block, first + k - from), words_.as<std::uint64_t>() + from, timeless);
    });
    return;
  }
  const sort_key key{.type = type_, .base = times, .stride = stride};
  ids_ = sort_rows({&key, 1}, n, tasks.scheduler(), tasks.pool(), tasks.cancel());
  words_ = tasks.pool().allocate_array<std::uint64_t>(n);
  std::atomic<std::size_t> timed{0};  // the others are last
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::uint64_t rows[block];
    for (std::size_t from = first; from < first + k; from += block) {
      const std::size_t m = std::min(block, first + k - from);
      for (std::size_t i = 0; i < m; ++i) rows[i] = ids_[from + i];
      timed += time_.words_of(times, stride, rows, m, words_.as<std::uint64_t>() + from);
    }
  });
  n_ = timed;
}

void asof_table::sort_runs(const std::byte* values, std::size_t stride, std::size_t n, const vertex_tasks& tasks) {
  ascent order(chunks_of(n));
  std::atomic<bool> all_timed{true};
  runtime::buffer timeless, by_row = tasks.pool().allocate_array<std::uint64_t>(n);
  if (time_.may_be_timeless()) timeless = tasks.pool().allocate(n);
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::uint8_t none[block];
    ascent::part part;
    for (std::size_t from = first; from < first + k; from += block) {
      const std::size_t m = std::min(block, first + k - from);
      std::uint8_t* const without = timeless ? timeless.as<std::uint8_t>() + from : none;
      std::uint64_t* const words = by_row.as<std::uint64_t>() + from;
      if (!time_.words(values + from * stride + time_at_, stride, m, words, without)) all_timed.store(false);
      for (std::size_t i = 0; i < m; ++i)
        if (without[i] == 0) order.add(part, words[i]);
    }
    order.set(first / part_rows, part);
  });
  join_options options;
  options.stride = stride;
  options.carried = by_row.as<std::uint64_t>();
  if (!all_timed) options.left_out = timeless.as<std::uint8_t>();
  keys_ = std::make_unique<join_table>(type_->field_list[0].of, values + key_at_, n, options, tasks.scheduler(), tasks.pool(),
                                       tasks.cancel());
  words_ = keys_->take_carried();
  if (!words_) bring_words(by_row.as<std::uint64_t>(), tasks);
  if (order.holds()) return;
  std::mutex lock;
  std::vector<join_table::run> large;
  keys_->each_runs(tasks.scheduler(), tasks.cancel(), [&](std::span<const join_table::run> some) {
    runtime::buffer room;
    for (const join_table::run& r : some) {
      if (r.end - r.begin < large_run) {
        sort_run(r, room, tasks);
      } else {
        const std::lock_guard hold(lock);
        large.push_back(r);
      }
    }
  });
  for (const join_table::run& r : large) sort_large_run(r, tasks);
}

// The words of rows to their places.
void asof_table::bring_words(const std::uint64_t* by_row, const vertex_tasks& tasks) {
  const auto places = static_cast<std::size_t>(keys_->places());
  words_ = tasks.pool().allocate_array<std::uint64_t>(places);
  tasks.chunks(places, [&](std::size_t first, std::size_t k) {
    constexpr std::size_t ahead = 32;
    const auto word = [&](std::size_t place) { return by_row + (keys_->has_row(place) ? keys_->row_at(place) : 0); };
    for (std::size_t p = first; p < first + k; ++p) {
      if (p + ahead < first + k) __builtin_prefetch(word(p + ahead));
      words_.as<std::uint64_t>()[p] = *word(p);
    }
  });
}

// By time; rows of one time keep their order. `room` grows, and serves the next run, too.
void asof_table::sort_run(const join_table::run& run, runtime::buffer& room, const vertex_tasks& tasks) {
  const auto n = static_cast<std::size_t>(run.end - run.begin);
  std::uint64_t* const words = words_.as<std::uint64_t>() + run.begin;
  if (std::is_sorted(words, words + n)) return;
  const auto row = [&](std::size_t i) { return word_row{words[i], keys_->row_at(run.begin + i)}; };
  const auto put = [&](const word_row* sorted) {
    for (std::size_t i = 0; i < n; ++i) {
      words[i] = sorted[i].word;
      keys_->put(run.begin + i, sorted[i].row);
    }
  };
  if (n <= short_run) {
    word_row sorted[short_run];
    for (std::size_t i = 0; i < n; ++i) {
      const word_row next = row(i);
      std::size_t at = i;
      for (; at > 0 && next.word < sorted[at - 1].word; --at) sorted[at] = sorted[at - 1];
      sorted[at] = next;
    }
    return put(sorted);
  }
  if (room.size() < 2 * n * sizeof(word_row)) {
    room.reset();
    room = tasks.pool().allocate_array<word_row>(std::bit_ceil(2 * n));
  }
  auto* const all = room.as<word_row>();
  for (std::size_t i = 0; i < n; ++i) all[i] = row(i);
  runtime::serial_scheduler alone;
  put(radix_sort(all, all + n, n, 0, alone, tasks.pool(), tasks.cancel()));
}

// The same by all threads.
void asof_table::sort_large_run(const join_table::run& run, const vertex_tasks& tasks) {
  const auto n = static_cast<std::size_t>(run.end - run.begin);
  std::uint64_t* const words = words_.as<std::uint64_t>() + run.begin;
  ascent order(chunks_of(n));
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    ascent::part part;
    for (std::size_t from = first; from < first + k && !order.broken(); from += block)
      for (std::size_t i = from; i < std::min(from + block, first + k); ++i) order.add(part, words[i]);
    order.set(first / part_rows, part);
  });
  if (order.holds()) return;
  const runtime::buffer pairs = tasks.pool().allocate_array<word_row>(2 * n);
  auto* const all = pairs.as<word_row>();
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; ++i) all[i] = {words[i], keys_->row_at(run.begin + i)};
  });
  const word_row* const sorted = radix_sort(all, all + n, n, 0, tasks.scheduler(), tasks.pool(), tasks.cancel());
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; ++i) {
      words[i] = sorted[i].word;
      keys_->put(run.begin + i, sorted[i].row);
    }
  });
}

}  // namespace query::cpu
