// The user's own aggregates, by their traced seed, update, combine and finish.
#include <algorithm>
#include <utility>
#include <vector>

#include "cpu_engine/aggregate_column.hpp"
#include "cpu_engine/value_slots.hpp"

namespace query::cpu {

namespace {

using collections = std::span<const interpreter::collection>;

// A state takes one row after the other. Rows of different groups are updated together: round r takes the r-th row of each
// group of the batch.
class custom_column final : public aggregate_column {
 public:
  custom_column(const group_expressions::call& c, const ir::type* row, runtime::buffer_pool& pool)
      : call_(c), state_(c.what.seed->type), row_(row), states_(state_, pool), next_(state_, pool), seeds_(state_, pool) {}

  void grow_to(std::size_t n) override {
    states_.grow_to(n);
    rounds_.resize(std::max(rounds_.size(), n));
  }
  void update(const aggregate_batch& b) override {
    std::vector<std::vector<std::uint32_t>> rounds;
    for (std::size_t i = 0; i < b.n; ++i) {
      const std::size_t r = rounds_[b.group(i)]++;
      if (r == rounds.size()) rounds.emplace_back();
      rounds[r].push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t i = 0; i < b.n; ++i) rounds_[b.group(i)] = 0;
    for (const auto& round : rounds) run_round(b, round);
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections c) override {
    auto& o = static_cast<custom_column&>(from);
    for (std::size_t i = 0; i < of.n; ++i) {
      if (!o.states_.has(of[i])) continue;
      const std::size_t g = groups ? groups[i] : 0;
      if (!states_.has(g)) {
        states_.take(g, o.states_.at(of[i]));
        continue;
      }
      interpreter::binding rows[2];
      rows[0].base = states_.at(g);
      rows[1].base = o.states_.at(of[i]);
      rows[0].stride = rows[1].stride = state_->size;
      next_.clear();
      call_.combine->run(rows, {c, {}}, 1, next_.extend(1), scratch_);
      next_.grow(1);
      states_.take(g, next_.data());
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections c) override {
    const void* from[1024];
    new_rows made(call_.what.source->type, out);
    for (std::size_t done = 0; done < n;) {
      const std::size_t k = std::min<std::size_t>(std::size(from), n - done);
      for (std::size_t i = 0; i < k; ++i) from[i] = states_.has(first + done + i) ? states_.at(first + done + i) : seed(c);
      interpreter::binding row;
      row.stride = state_->size;
      row.pointers = from;
      call_.finish->run({&row, 1}, {c, {}}, k, made.end(), scratch_);
      made.grow(k);
      done += k;
    }
    made.release();
  }

 private:
  const void* seed(collections c) {
    if (!seeds_.size()) {
      call_.seed->run({}, {c, {}}, 1, seeds_.extend(1), scratch_);
      seeds_.grow(1);
    }
    return seeds_.data();
  }
  void run_round(const aggregate_batch& b, const std::vector<std::uint32_t>& round) {
    std::vector<const void*> rows, states;
    for (const std::uint32_t i : round) {
      rows.push_back(static_cast<const std::byte*>(b.rows) + (b.select ? b.select[i] : i) * row_->size);
      const std::size_t g = b.group(i);
      states.push_back(states_.has(g) ? states_.at(g) : seed(b.collections));
    }
    interpreter::binding from[2];
    from[0].pointers = rows.data();
    from[1].pointers = states.data();
    from[0].stride = row_->size;
    from[1].stride = state_->size;
    next_.clear();
    call_.update->run(from, {b.collections, {}}, round.size(), next_.extend(round.size()), scratch_);
    next_.grow(round.size());
    for (std::size_t k = 0; k < round.size(); ++k) states_.take(b.group(round[k]), next_.at(k));
  }

  group_expressions::call call_;
  const ir::type* state_;
  const ir::type* row_;
  value_slots states_;  // empty until the group's first row: the seed is the identity of combine
  rows_buffer next_, seeds_;
  std::vector<std::size_t> rounds_;  // by group: how many of its rows the batch has had
  interpreter::scratch scratch_;
};

}  // namespace

std::unique_ptr<aggregate_column> make_custom_column(const group_expressions::call& call, const ir::type* row, runtime::buffer_pool& pool) {
  return std::make_unique<custom_column>(call, row, pool);
}

}  // namespace query::cpu
