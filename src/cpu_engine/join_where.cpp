#include "cpu_engine/join_where.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <query/detail/stop.hpp>

#include "cpu_engine/join_candidates.hpp"
#include "cpu_engine/pair_calls.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/right_side.hpp"
#include "cpu_engine/row_prefix.hpp"

namespace query::cpu {

namespace {

// A batch of pairs, by the addresses of their rows.
struct pair_batch {
  const void *left[batch_rows], *right[batch_rows];
  std::size_t n = 0;
  bool add(const void* l, const void* r) {  // is it full?
    left[n] = l;
    right[n] = r;
    return ++n == batch_rows;
  }
};

// The right side as it is joined, and both functions.
struct joined_side {
  joined_side(const planner::vertex& v, detail::table right_rows, const ir::type* left, const vertex_tasks& tasks)
      : right(std::move(right_rows)),
        candidates(planner::take_apart(v.node->functions[0]), right, left, tasks),
        condition(v.node->functions[0], left, right.type, v.interpreted, tasks.pool()),
        result(v.node->functions[1], left, right.type, v.interpreted, tasks.pool()) {}

  detail::table right;
  join_candidates candidates;
  pair_calls condition, result;
};

// Makes the pairs of left rows, in order, on one thread.
class pair_maker {
 public:
  pair_maker(const joined_side& side, rows_buffer& to) : side_(&side), to_(&to) {}

  void join(const detail::table& left, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t in_batch = i % batch_rows;
      if (in_batch == 0) side_->candidates.look_up(row_at(left, first + i), std::min(batch_rows, n - i), runs_, looked_up_);
      side_->candidates.each(in_batch, runs_[in_batch], looked_up_, [&](std::size_t number) {
        if (asked_.add(row_at(left, first + i), row_at(side_->right, number))) ask();
      });
    }
    ask();
    give();
  }

 private:
  void ask() {
    stop_.check();
    side_->condition.map(asked_.left, asked_.right, asked_.n, holds_, condition_scratch_);
    for (std::size_t i = 0; i < asked_.n; ++i)
      if (holds_[i] && matched_.add(asked_.left[i], asked_.right[i])) give();
    asked_.n = 0;
  }
  void give() {
    side_->result.map(matched_.left, matched_.right, matched_.n, to_->extend(matched_.n), result_scratch_);
    to_->grow(matched_.n);
    matched_.n = 0;
  }

  const joined_side* side_;
  rows_buffer* to_;
  const detail::stop_point stop_;
  join_candidates::run runs_[batch_rows];
  join_candidates::scratch looked_up_;
  pair_batch asked_, matched_;
  bool holds_[batch_rows];
  pair_calls::scratch condition_scratch_, result_scratch_;
};

// The right rows are all there; the left ones, and the pairs, come a piece at a time.
class joined_pieces final : public row_pieces {
 public:
  joined_pieces(const planner::vertex& v, runtime::run_context& context)
      : v_(&v), tasks_(context, v.captures), left_(v.inputs[0], v, tasks_) {}

  bool next(detail::table& out, std::size_t) override {
    std::vector<piece> made;
    while (rows_in(made) == 0)
      if (!next(made)) return false;
    out = side_by_side(std::move(made), v_->node->row, tasks_);
    return true;
  }
  // The pairs, perhaps none, of the next left rows; false at their end.
  bool next(std::vector<piece>& to) {
    if (!side_ && !begin()) return false;
    while (next_ == now_.n) {
      next_ = 0;
      now_.n = 0;
      if (!left_.next(now_, ~0ull)) return false;
    }
    const std::vector<std::size_t> ends = next_runs();
    std::vector<std::optional<rows_buffer>> made(ends.size());
    tasks_.for_each(ends.size(), [&](std::size_t r) {
      rows_buffer& rows = made[r].emplace(v_->node->row, tasks_.pool());
      const std::size_t first = r ? ends[r - 1] : next_;
      const auto maker = std::make_unique<pair_maker>(*side_, rows);
      maker->join(now_, first, ends[r] - first);
    });
    for (auto& rows : made)
      if (rows->size()) to.emplace_back(std::move(*rows));
    next_ = ends.back();
    return true;
  }
  bool prompt() const override { return false; }

 private:
  static constexpr std::size_t most_runs = 64, most_rows = std::size_t{128} << 10, first_pairs = 1024, most_bytes = std::size_t{32} << 20;

  bool begin() {
    return with_right_side(*v_->node, [&] {
      detail::table right = collect_input(*v_, 1, tasks_).table;
      if (!right.n) return false;
      side_.emplace(*v_, std::move(right), v_->inputs[0].row, tasks_);
      return true;
    });
  }
  // Where runs of the next left rows end: together they have as many candidates as a piece may have pairs, or are one row; each has about
  // as many. All this whatever the number of threads: sums are added up piece by piece.
  std::vector<std::size_t> next_runs() {
    const std::size_t n = std::min(rows_, now_.n - next_), size = v_->node->row->size;
    std::vector<std::size_t> candidates(n);
    tasks_.for_each((n + batch_rows - 1) / batch_rows, [&](std::size_t b) {
      const std::size_t first = b * batch_rows, k = std::min(batch_rows, n - first);
      const auto s = std::make_unique<join_candidates::scratch>();
      join_candidates::run runs[batch_rows];
      side_->candidates.look_up(row_at(now_, next_ + first), k, runs, *s);
      for (std::size_t i = 0; i < k; ++i) candidates[first + i] = runs[i].size();
    });
    std::size_t rows = 0, all = 0;
    for (; rows < n && (rows == 0 || all + candidates[rows] <= pairs_); ++rows) all += candidates[rows];
    std::vector<std::size_t> ends;
    const std::size_t a_run = std::max(all, rows) / most_runs + 1;
    for (std::size_t i = 0, of_run = 0; i < rows; ++i) {
      of_run += std::max<std::size_t>(candidates[i], 1);
      if (i + 1 < rows && of_run < a_run) continue;
      ends.push_back(next_ + i + 1);
      of_run = 0;
    }
    // Few at first: perhaps nobody wants more.
    const std::size_t most_pairs = std::max<std::size_t>(std::min(most_bytes / size, most_piece_rows(size, tasks_.pool())), 1);
    rows_ = std::min(rows < n ? std::max<std::size_t>(2 * rows, batch_rows) : 8 * rows_, most_rows);
    pairs_ = std::min(8 * pairs_, most_pairs);
    return ends;
  }

  const planner::vertex* v_;
  vertex_tasks tasks_;
  row_prefix left_;
  std::optional<joined_side> side_;
  detail::table now_;     // of the left rows
  std::size_t next_ = 0;  // of these
  std::size_t rows_ = batch_rows, pairs_ = first_pairs;  // to look at next: of the left side; at most, unless one row has more
};

}  // namespace

detail::table join_where_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  joined_pieces pairs(v, tasks.context());
  std::vector<piece> all;
  std::size_t n = 0;
  for (std::size_t known = 0; n < v.limit && pairs.next(all); known = all.size())
    for (std::size_t i = known; i < all.size(); ++i) n += all[i].size();
  return slice(side_by_side(std::move(all), v.node->row, tasks), 0, v.limit);
}

std::unique_ptr<row_pieces> stream_of_join_where(const planner::vertex& v, runtime::run_context& context) {
  return std::make_unique<joined_pieces>(v, context);
}

}  // namespace query::cpu
