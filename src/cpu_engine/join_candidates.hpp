// The right rows that may match a left row of a join_where: found by binary search in right rows sorted by what the condition compares.
//
// Right rows that pass the condition's tests of them are sorted by the hash of what must be equal, then by the value of the first range:
// the candidates of a left row lie side by side. Further ranges prune these: over their values, in the same order, stand trees of the
// least and greatest word of 16, 256... rows, and what lies outside of a left row's bounds is passed over as a whole. With two ranges
// that takes O(log n) for each candidate (priority search trees: de Berg et al., Computational Geometry, chapter 10). Strings stand as
// hashes and as their first 8 characters, so that candidates need not match: the reader asks the condition.
//
//   const join_candidates candidates(take_apart(f), right, left_row, tasks);
//   candidates.look_up(left_rows, n, runs, s);    // at most batch_rows
//   candidates.each(i, runs[i], s, f);            // f(number) for those of left row i, in the order of the right rows
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpu_engine/value_words.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "planner/join_condition.hpp"

namespace query::cpu {

class join_candidates {
 public:
  join_candidates(const planner::join_condition& condition, const detail::table& right, const ir::type* left, const vertex_tasks& tasks);

  struct bounds {  // both within
    std::uint64_t low = 0, high = ~std::uint64_t{0};
  };
  // The sorted right rows among which all candidates of a left row lie.
  struct run {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  // Working memory of one thread.
  class scratch {
    friend class join_candidates;
    value_words::scratch values_;
    bool there_[batch_rows];
    std::uint64_t equal_[batch_rows], words_[batch_rows];
    std::vector<bounds> bounds_;         // [range][row]
    std::vector<std::uint64_t> numbers_;
    runtime::buffer marked_;             // a bit a right row
  };

  void look_up(const void* left_rows, std::size_t n, run* runs, scratch& s) const;
  template <class F> void each(std::size_t i, const run& r, scratch& s, F f) const {
    if (in_place_) {
      for (std::size_t row = r.begin; row < r.end; ++row) f(row);
    } else if (r.size() < right_.n / word_bits) {
      for (const std::uint64_t row : sorted_numbers(i, r, s)) f(static_cast<std::size_t>(row));
    } else if (r.size()) {
      const std::span<const std::uint64_t> marks = marked(i, r, s);
      for (std::size_t w = 0; w < marks.size(); ++w)
        for (std::uint64_t bits = marks[w]; bits; bits &= bits - 1) f(w * word_bits + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }

 private:
  struct entry {
    std::uint64_t equal, rank, row;
    bool operator<(const entry& o) const {
      return equal != o.equal ? equal < o.equal : rank != o.rank ? rank < o.rank : row < o.row;
    }
  };
  struct left_bound {
    std::size_t range;
    ir::op is;
    value_words value;
  };
  // A further range: words in the order of the entries, and what the words of 16, 256... of them lie between.
  struct pruning {
    runtime::buffer words;
    std::vector<runtime::buffer> levels;
    bool none_within(std::size_t level, std::size_t block, const bounds& b) const;
  };

  void take_right(const vertex_tasks& tasks);
  void sort_right(const vertex_tasks& tasks);
  void build(pruning& p, const value_words& value, const vertex_tasks& tasks) const;
  void tested(const std::optional<interpreter::program>& test, std::size_t side, const void* rows, std::size_t n, scratch& s) const;
  bool passed_over(std::size_t& position, std::size_t last, std::size_t row, const scratch& s) const;
  template <class F> void each_found(std::size_t i, const run& r, const scratch& s, F f) const;
  std::span<const std::uint64_t> sorted_numbers(std::size_t i, const run& r, scratch& s) const;
  std::span<const std::uint64_t> marked(std::size_t i, const run& r, scratch& s) const;
  static constexpr std::size_t word_bits = 64;

  detail::table right_;
  const ir::type* left_;
  std::optional<interpreter::program> tests_[2];
  std::vector<value_words> equal_[2];
  std::vector<value_words> right_ranges_;
  std::vector<left_bound> left_bounds_;
  runtime::buffer_pool* pool_;
  bool in_place_;  // nothing is sorted: all right rows are candidates, in their order
  runtime::buffer sorted_;
  std::size_t n_ = 0;  // entries in it
  std::vector<pruning> further_;
};

}  // namespace query::cpu
