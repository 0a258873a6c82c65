// Probing of join_table.hpp. join_build.cpp builds.
#include "cpu_engine/join_table.hpp"

#include <algorithm>
#include <array>

#include "cpu_engine/join_part.hpp"

namespace query::cpu {
namespace {

// The part of the block whose table entry is being looked at lies this far behind the prefetch.
constexpr std::size_t distance = 2 * prefetch_distance;

}  // namespace

join_table::cursor::cursor() : state_(std::make_unique<state>()) {}
join_table::cursor::~cursor() = default;
join_table::cursor::cursor(cursor&&) noexcept = default;
join_table::cursor& join_table::cursor::operator=(cursor&&) noexcept = default;
void join_table::cursor::reset() { state_->next = state_->base = state_->count = state_->at = state_->done = 0; }

// Writes the ranges of order_ that match each of up to join_block keys; empty ranges where none do.
void join_table::look_up(const void* keys, std::size_t n, std::size_t stride, cursor::state& s) const {
  std::uint8_t misfit[join_block];
  std::size_t misfits = 0;
  if (rows_ == 0 || inserted_ == 0) {
    std::fill_n(s.begin, n, 0);
    std::fill_n(s.end, n, 0);
    return;
  }
  const key_part all{.type = &words_.type(), .offset = 0, .base = static_cast<const std::byte*>(keys), .stride = stride};
  if (key_words::one_word(form_)) {
    std::uint64_t words[join_block];
    misfits = words_.encode(form_, {&all, 1}, 0, n, words, misfit);
    if (direct_) look_up_direct(words, n, s);
    else if (form_ == key_words::form::narrow) look_up_slots(&part::narrow, words, n, s);
    else look_up_slots(&part::word, words, n, s);
  } else {
    wide_word words[join_block];
    misfits = words_.encode(form_, {&all, 1}, 0, n, words, misfit);
    look_up_tagged(static_cast<const std::byte*>(keys), stride, words, n, s);
  }
  if (misfits != 0)
    for (std::size_t i = 0; i < n; ++i)
      if (misfit[i] != 0) s.begin[i] = s.end[i] = 0;
  if (!nulls_match_ && may_be_null(words_.type()) && find_nulls(words_.type(), keys, n, stride, misfit) != 0)
    for (std::size_t i = 0; i < n; ++i)
      if (misfit[i] != 0) s.begin[i] = s.end[i] = 0;
}

void join_table::look_up_direct(const std::uint64_t* words, std::size_t n, cursor::state& s) const {
  if (direct_unique_) {
    const std::uint32_t* rows = order_.as<std::uint32_t>();
    for (std::size_t i = 0; i < n; ++i) s.begin[i] = words[i] - low_ < range_ ? words[i] - low_ : 0;
    if (order_.size() > prefetched_bytes)
      for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(rows + s.begin[i]);
    for (std::size_t i = 0; i < n; ++i) {
      const unsigned inside = words[i] - low_ < range_ ? 1u : 0u;
      s.end[i] = s.begin[i] + (inside & (rows[s.begin[i]] != no_id ? 1u : 0u));
    }
    return;
  }
  const std::uint64_t mask = (std::uint64_t{1} << direct_shift_) - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t number = words[i] - low_;
    if (number >= range_) {
      s.begin[i] = s.end[i] = 0;
      continue;
    }
    const part& p = parts_[number >> direct_shift_];
    s.begin[i] = p.begin_of(number & mask);
    s.end[i] = p.end_of(number & mask);
  }
}

template <class Word>
void join_table::look_up_slots(slot_table<Word> part::*table, const std::uint64_t* words, std::size_t n, cursor::state& s) const {
  if (const part& only = parts_.front(); parts_.size() == 1 && only.unique && !(only.*table).large()) {
    // The cache holds the table: nothing to fetch ahead, and no branch on what is found, which would be mispredicted.
    for (std::size_t i = 0; i < n; ++i) {
      const auto word = static_cast<Word>(words[i]);
      const std::uint32_t id = (only.*table).find(word, slot_table<Word>::hash(word));
      const std::uint64_t found = id != no_id ? 1 : 0;
      s.begin[i] = found * (only.first + id);
      s.end[i] = s.begin[i] + found;
    }
    return;
  }
  std::uint64_t hashes[join_block];
  std::uint32_t ids[join_block];
  const auto part_at = [&](std::size_t i) -> const part& { return parts_[part_of_hash(hashes[i])]; };
  for (std::size_t i = 0; i < n; ++i) hashes[i] = slot_table<Word>::hash(static_cast<Word>(words[i]));
  const auto prefetch = [&](std::size_t i) {
    const part& p = part_at(i);
    if (p.rows > 0) (p.*table).prefetch(hashes[i]);
  };
  for (std::size_t i = 0; i < std::min(n, distance); ++i) prefetch(i);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + distance < n) prefetch(i + distance);
    const part& p = part_at(i);
    ids[i] = (p.*table).find(static_cast<Word>(words[i]), hashes[i]);
    if (ids[i] != no_id) p.prefetch(ids[i]);
  }
  for (std::size_t i = 0; i < n; ++i) set_range(part_at(i), ids[i], i, s);
}

void join_table::look_up_tagged(const std::byte* keys, std::size_t stride, const wide_word* words, std::size_t n, cursor::state& s) const {
  std::uint64_t hashes[join_block];
  std::uint32_t ids[join_block];
  const auto part_at = [&](std::size_t i) -> const part& { return parts_[part_of_hash(hashes[i])]; };
  for (std::size_t i = 0; i < n; ++i) hashes[i] = tagged_table::hash(words[i]);
  const auto prefetch = [&](std::size_t i) {
    const part& p = part_at(i);
    if (p.rows > 0) p.wide.prefetch(hashes[i]);
  };
  for (std::size_t i = 0; i < std::min(n, distance); ++i) prefetch(i);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + distance < n) prefetch(i + distance);
    if (const std::size_t soon = i + distance / 2; soon < n && part_at(soon).rows > 0) part_at(soon).wide.prefetch_word(hashes[soon]);
    const part& p = part_at(i);
    const bool ambiguous = key_words::ambiguous(form_, words[i]);
    ids[i] = p.wide.find(words[i], hashes[i], [&](std::uint32_t id) {
      return !ambiguous || words_.equal(keys + i * stride, keys_ + row_at(p.begin_of(id)) * stride_);
    });
    if (ids[i] != no_id) p.prefetch(ids[i]);
  }
  for (std::size_t i = 0; i < n; ++i) set_range(part_at(i), ids[i], i, s);
}

void join_table::set_range(const part& p, std::uint32_t id, std::size_t i, cursor::state& s) const {
  s.begin[i] = s.end[i] = 0;
  if (id == no_id) return;
  s.begin[i] = p.begin_of(id);
  s.end[i] = p.end_of(id);
  __builtin_prefetch(order_.as<std::byte>() + s.begin[i] * (wide_rows_ ? 8 : 4));
}

// The rest of the block where no key has more than one match; without branches, as these would be mispredicted.
void join_table::take_single_matches(cursor::state& s, match_batch& out, unmatched rows) const {
  std::size_t size = out.size_;
  for (; s.at < s.count; ++s.at) {
    const bool found = s.end[s.at] != s.begin[s.at];
    const std::uint64_t row = row_at(s.begin[s.at]);  // some row if there is none
    out.probe_[size] = static_cast<std::uint32_t>(s.base + s.at);
    out.build_[size] = found ? row : no_row;
    size += found || rows == unmatched::keep ? 1 : 0;
  }
  out.size_ = size;
}

bool join_table::probe(const void* keys, std::size_t n, cursor& at, match_batch& out, unmatched rows) const {
  const std::size_t size = words_.type().size;
  return probe_keys(n, at, out, rows, [&](std::size_t first, std::size_t k, cursor::state& s) {
    look_up(static_cast<const std::byte*>(keys) + first * size, k, size, s);
  });
}

bool join_table::probe(const run* runs, std::size_t n, cursor& at, match_batch& out, unmatched rows) const {
  return probe_keys(n, at, out, rows, [&](std::size_t first, std::size_t k, cursor::state& s) {
    for (std::size_t i = 0; i < k; ++i) {
      s.begin[i] = runs[first + i].begin;
      s.end[i] = runs[first + i].end;
    }
  });
}

template <class LookUp>
bool join_table::probe_keys(std::size_t n, cursor& at, match_batch& out, unmatched rows, const LookUp& look_up) const {
  cursor::state& s = *at.state_;
  const std::size_t capacity = out.capacity();
  out.size_ = 0;
  while (out.size_ < capacity) {
    if (s.at == s.count) {
      if (s.next == n) break;
      s.base = s.next;
      s.count = std::min(join_block, n - s.next);
      s.at = 0;
      s.done = 0;
      look_up(s.base, s.count, s);
      s.next += s.count;
    }
    if (distinct_ == inserted_ && inserted_ > 0 && capacity - out.size_ >= s.count - s.at) {
      take_single_matches(s, out, rows);
      continue;
    }
    const auto probe = static_cast<std::uint32_t>(s.base + s.at);
    const std::uint64_t matches = s.end[s.at] - s.begin[s.at];
    if (matches == 0 && rows == unmatched::keep) {
      out.probe_[out.size_] = probe;
      out.build_[out.size_++] = no_row;
    }
    const std::uint64_t take = std::min<std::uint64_t>(matches - s.done, capacity - out.size_);
    for (std::uint64_t i = 0; i < take; ++i) {
      out.probe_[out.size_] = probe;
      out.build_[out.size_++] = row_at(s.begin[s.at] + s.done + i);
    }
    s.done += take;
    if (s.done == matches) {
      ++s.at;
      s.done = 0;
    }
  }
  return out.size_ > 0;
}

void join_table::contains(const void* keys, std::size_t n, std::uint8_t* out) const {
  cursor::state s;
  for (std::size_t done = 0; done < n; done += join_block) {
    const std::size_t m = std::min(join_block, n - done);
    look_up(static_cast<const std::byte*>(keys) + done * words_.type().size, m, words_.type().size, s);
    for (std::size_t i = 0; i < m; ++i) out[done + i] = s.end[i] != s.begin[i];
  }
}

void join_table::count(const void* keys, std::size_t n, std::uint64_t* out) const {
  cursor::state s;
  for (std::size_t done = 0; done < n; done += join_block) {
    const std::size_t m = std::min(join_block, n - done);
    look_up(static_cast<const std::byte*>(keys) + done * words_.type().size, m, words_.type().size, s);
    for (std::size_t i = 0; i < m; ++i) out[done + i] = s.end[i] - s.begin[i];
  }
}

void join_table::runs(const void* keys, std::size_t n, std::size_t stride, run* out) const {
  static_assert(most_runs == join_block);
  cursor::state s;
  look_up(keys, n, stride, s);
  for (std::size_t i = 0; i < n; ++i) out[i] = {s.begin[i], s.end[i]};
}

void join_table::each_runs(runtime::scheduler& scheduler, const runtime::cancel_flag& cancel,
                           function_ref<void(std::span<const run>)> f) const {
  struct entries {
    const part* of;
    std::size_t first, end;
  };
  constexpr std::size_t a_task = 512;
  std::vector<entries> all;
  for (const part& p : parts_) {
    if (p.unique || p.rows == 0) continue;  // runs of one row
    const std::size_t n = p.begins.size() / sizeof(std::uint32_t) - 1;
    for (std::size_t first = 0; first < n; first += a_task) all.push_back({&p, first, std::min(n, first + a_task)});
  }
  scheduler.for_each(all.size(), [&](std::size_t i) {
    std::array<run, a_task> some;
    std::size_t n = 0;
    for (std::size_t e = all[i].first; e < all[i].end; ++e)
      if (const run r{all[i].of->begin_of(e), all[i].of->end_of(e)}; r.end - r.begin > 1) some[n++] = r;
    f(std::span(some).first(n));
  }, cancel);
}

void join_table::mark(const match_batch& matches) {
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const std::uint64_t row = matches.build()[i];
    if (row == no_row) continue;
    std::atomic<std::uint64_t>& word = marks_[row / 64];
    const std::uint64_t bit = std::uint64_t{1} << (row % 64);
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }
}

bool join_table::marked_rows(bool wanted, std::size_t& row, std::size_t limit, std::vector<std::uint64_t>& out) const {
  const std::size_t before = out.size();
  for (; row < rows_ && out.size() - before < limit; ++row)
    if (matched(row) == wanted) out.push_back(row);
  return out.size() > before;
}

}  // namespace query::cpu
