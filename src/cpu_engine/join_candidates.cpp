#include "cpu_engine/join_candidates.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include <query/detail/stop.hpp>

#include "cpu_engine/merge_sort.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t fan_out_bits = 4, fan_out = std::size_t{1} << fan_out_bits;
constexpr std::size_t entries_a_look = 4096;

void narrow(join_candidates::bounds& b, ir::op is, std::uint64_t word, bool exact) {
  constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();
  const auto nothing = [&] { b = {greatest, 0}; };
  switch (is) {
    case ir::op::lt:
      if (exact && word == 0) return nothing();
      b.high = std::min(b.high, exact ? word - 1 : word);
      return;
    case ir::op::le: b.high = std::min(b.high, word); return;
    case ir::op::gt:
      if (exact && word == greatest) return nothing();
      b.low = std::max(b.low, exact ? word + 1 : word);
      return;
    default: b.low = std::max(b.low, word);
  }
}

}  // namespace

join_candidates::join_candidates(const planner::join_condition& condition, const detail::table& right, const ir::type* left,
                                 const vertex_tasks& tasks)
    : right_(right), left_(left), pool_(&tasks.pool()), in_place_(!condition.sorts() && !condition.tests[1]) {
  for (std::size_t side : {0, 1})
    if (condition.tests[side]) tests_[side].emplace(condition.tests[side]);
  for (const planner::equal_values& e : condition.equal) {
    equal_[0].emplace_back(e.left, 0, tasks.pool());
    equal_[1].emplace_back(e.right, 1, tasks.pool());
  }
  for (const planner::right_range& r : condition.ranges) {
    for (const planner::bound_of_right& b : r.bounds)
      left_bounds_.push_back({right_ranges_.size(), b.is, value_words(b.left, 0, tasks.pool())});
    right_ranges_.emplace_back(r.right, 1, tasks.pool());
  }
  if (in_place_) return;
  take_right(tasks);
  sort_right(tasks);
  for (std::size_t i = 1; i < right_ranges_.size(); ++i) build(further_.emplace_back(), right_ranges_[i], tasks);
}

void join_candidates::tested(const std::optional<interpreter::program>& test, std::size_t side, const void* rows, std::size_t n,
                             scratch& s) const {
  std::fill_n(s.there_, n, true);
  if (!test) return;
  interpreter::binding sides[2];
  sides[side].base = rows;
  sides[side].stride = (side ? right_.type : left_)->size;
  test->filter(sides, {}, n, s.there_, s.values_.registers);
}

// An entry for each right row that may match; none for a row that fails a test of right rows or has a NaN.
void join_candidates::take_right(const vertex_tasks& tasks) {
  sorted_ = tasks.pool().allocate_array<entry>(right_.n);
  auto* const entries = sorted_.as<entry>();
  std::vector<std::size_t> kept(chunks_of(right_.n));
  tasks.chunks(right_.n, [&](std::size_t first, std::size_t k) {
    const auto own = std::make_unique<scratch>();
    scratch& s = *own;
    entry* to = entries + first;
    for (std::size_t i = first; i < first + k; i += batch_rows) {
      tasks.cancel().check();
      const std::size_t n = std::min(batch_rows, first + k - i), stride = right_.type->size;
      const void* const rows = row_at(right_, i);
      tested(tests_[1], 1, rows, n, s);
      std::fill_n(s.equal_, n, 0);
      for (const value_words& e : equal_[1]) e.mix_hashes(rows, stride, n, s.equal_, s.there_, s.values_);
      std::fill_n(s.words_, n, 0);
      for (std::size_t x = right_ranges_.size(); x-- > 0;) right_ranges_[x].ranks(rows, stride, n, s.words_, s.there_, s.values_);
      for (std::size_t r = 0; r < n; ++r)
        if (s.there_[r]) *to++ = {s.equal_[r], s.words_[r], i + r};
    }
    kept[first / part_rows] = static_cast<std::size_t>(to - entries) - first;
  });
  for (std::size_t chunk = 0; chunk < kept.size(); ++chunk) {
    tasks.cancel().check();
    entry* const from = entries + chunk * part_rows;
    if (from != entries + n_) std::copy(from, from + kept[chunk], entries + n_);
    n_ += kept[chunk];
  }
}

void join_candidates::sort_right(const vertex_tasks& tasks) {
  entry* const entries = sorted_.as<entry>();
  if (std::is_sorted(entries, entries + n_)) return;
  const runtime::buffer spare = tasks.pool().allocate_array<entry>(n_);
  merge_sort(entries, spare.as<entry>(), n_, std::less<>{}, tasks.scheduler(), tasks.cancel());
}

void join_candidates::build(pruning& p, const value_words& value, const vertex_tasks& tasks) const {
  p.words = tasks.pool().allocate_array<std::uint64_t>(n_);
  auto* const words = p.words.as<std::uint64_t>();
  {
    const runtime::buffer by_row = tasks.pool().allocate_array<std::uint64_t>(right_.n);
    auto* const of_row = by_row.as<std::uint64_t>();
    tasks.chunks(right_.n, [&](std::size_t first, std::size_t k) {
      const auto s = std::make_unique<scratch>();
      for (std::size_t i = first; i < first + k; i += batch_rows) {
        tasks.cancel().check();
        const std::size_t n = std::min(batch_rows, first + k - i);
        std::fill_n(s->there_, n, true);
        value.ranks(row_at(right_, i), right_.type->size, n, of_row + i, s->there_, s->values_);
      }
    });
    const auto* const entries = sorted_.as<entry>();
    tasks.chunks(n_, [&](std::size_t first, std::size_t k) {
      for (std::size_t i = first; i < first + k; ++i) words[i] = of_row[entries[i].row];
    });
  }
  for (std::size_t blocks = n_ >> fan_out_bits; blocks; blocks >>= fan_out_bits) {
    runtime::buffer level = tasks.pool().allocate_array<bounds>(blocks);
    const bounds* const below = p.levels.empty() ? nullptr : p.levels.back().as<bounds>();
    tasks.chunks(blocks, [&](std::size_t first, std::size_t k) {
      for (std::size_t i = first; i < first + k; ++i) {
        bounds b{~std::uint64_t{0}, 0};
        for (std::size_t j = i * fan_out; j < (i + 1) * fan_out; ++j) {
          b.low = std::min(b.low, below ? below[j].low : words[j]);
          b.high = std::max(b.high, below ? below[j].high : words[j]);
        }
        level.as<bounds>()[i] = b;
      }
    });
    p.levels.push_back(std::move(level));
  }
}

void join_candidates::look_up(const void* left_rows, std::size_t n, run* runs, scratch& s) const {
  const std::size_t stride = left_->size;
  tested(tests_[0], 0, left_rows, n, s);
  std::fill_n(s.equal_, n, 0);
  for (const value_words& e : equal_[0]) e.mix_hashes(left_rows, stride, n, s.equal_, s.there_, s.values_);
  const std::size_t ranges = std::max<std::size_t>(right_ranges_.size(), 1);
  s.bounds_.resize(ranges * batch_rows);
  for (std::size_t r = 0; r < ranges; ++r) std::fill_n(s.bounds_.begin() + static_cast<std::ptrdiff_t>(r * batch_rows), n, bounds{});
  for (const left_bound& b : left_bounds_) {
    b.value.ranks(left_rows, stride, n, s.words_, s.there_, s.values_);
    for (std::size_t i = 0; i < n; ++i) narrow(s.bounds_[b.range * batch_rows + i], b.is, s.words_[i], b.value.exact());
  }
  const auto* const entries = sorted_.as<entry>();
  for (std::size_t i = 0; i < n; ++i) {
    runs[i] = {};
    bool none = !s.there_[i];
    for (std::size_t r = 0; r < ranges; ++r) none = none || s.bounds_[r * batch_rows + i].low > s.bounds_[r * batch_rows + i].high;
    if (none) continue;
    if (in_place_) {
      runs[i].end = right_.n;
      continue;
    }
    const bounds& b = s.bounds_[i];
    const std::uint64_t equal = s.equal_[i];
    const auto* const begin = std::partition_point(entries, entries + n_, [&](const entry& e) {
      return e.equal != equal ? e.equal < equal : e.rank < b.low;
    });
    const auto* const end = std::partition_point(begin, entries + n_, [&](const entry& e) {
      return e.equal != equal ? e.equal < equal : e.rank <= b.high;
    });
    runs[i] = {static_cast<std::size_t>(begin - entries), static_cast<std::size_t>(end - entries)};
  }
}

bool join_candidates::pruning::none_within(std::size_t level, std::size_t block, const bounds& b) const {
  if (!level) {
    const std::uint64_t word = words.as<std::uint64_t>()[block];
    return word < b.low || word > b.high;
  }
  const bounds& of = levels[level - 1].as<bounds>()[block];
  return of.high < b.low || of.low > b.high;
}

// Goes past the largest block that begins there and has nothing for the left row.
bool join_candidates::passed_over(std::size_t& position, std::size_t last, std::size_t row, const scratch& s) const {
  const std::size_t aligned = position ? static_cast<std::size_t>(std::countr_zero(position)) / fan_out_bits : further_[0].levels.size();
  std::size_t level = std::min(aligned, further_[0].levels.size());
  while (level && position + (std::size_t{1} << level * fan_out_bits) > last) --level;
  for (;; --level) {
    for (std::size_t f = 0; f < further_.size(); ++f) {
      if (!further_[f].none_within(level, position >> level * fan_out_bits, s.bounds_[(f + 1) * batch_rows + row])) continue;
      position += std::size_t{1} << level * fan_out_bits;
      return true;
    }
    if (!level) return false;
  }
}

// In the order in which they are sorted.
template <class F> void join_candidates::each_found(std::size_t i, const run& r, const scratch& s, F f) const {
  const auto* const entries = sorted_.as<entry>();
  const detail::stop_point stop;
  std::size_t looked = 0;
  for (std::size_t p = r.begin; p < r.end;) {
    if (++looked % entries_a_look == 0) stop.check();
    if (!further_.empty() && passed_over(p, r.end, i, s)) continue;
    f(entries[p++].row);
  }
}

std::span<const std::uint64_t> join_candidates::sorted_numbers(std::size_t i, const run& r, scratch& s) const {
  s.numbers_.clear();
  each_found(i, r, s, [&](std::uint64_t row) { s.numbers_.push_back(row); });
  if (!std::is_sorted(s.numbers_.begin(), s.numbers_.end())) std::sort(s.numbers_.begin(), s.numbers_.end());
  return s.numbers_;
}

// Where they are many: a bit for each right row.
std::span<const std::uint64_t> join_candidates::marked(std::size_t i, const run& r, scratch& s) const {
  const std::size_t words = right_.n / word_bits + 1;
  if (!s.marked_) s.marked_ = pool_->allocate_array<std::uint64_t>(words);
  auto* const marks = s.marked_.as<std::uint64_t>();
  std::fill_n(marks, words, 0);
  each_found(i, r, s, [&](std::uint64_t row) { marks[row / word_bits] |= std::uint64_t{1} << row % word_bits; });
  return {marks, words};
}

}  // namespace query::cpu
