#include "cpu_engine/set_inputs.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "cpu_engine/first_of_keys.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/value_bytes.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t least_rows = 2 * part_rows;  // of an input that is reduced
// A part is reduced if it has so many rows for each key: numbers are found among all rows about as fast.
constexpr std::size_t least_rows_a_key = 16, least_rows_a_key_on_heap = 4;

// The first row of each key of one part. Blocks come in order.
class first_rows_of_part final : public detail::batch_sink {
 public:
  first_rows_of_part(const planner::vertex& v, const vertex_tasks& tasks, rows_buffer& to)
      : v_(&v), tasks_(&tasks), to_(&to), seen_(v.node->functions[0].result, equality_of(v.node->keys), tasks.pool()) {}

  std::size_t rows() const { return rows_; }
  void push(const detail::row_block& b) override {
    const detail::table block{{}, b.rows, b.n, to_->type()};
    const key_column keys(v_->node->functions[0], v_->interpreted, block, *tasks_, key_column::layout::adjacent);
    const permutation first = seen_.first_of(keys.base(), b.n, *tasks_);
    rows_ += b.n;
    for (std::size_t i = 0, end; i < first.size(); i = end) {
      for (end = i + 1; end < first.size() && first[end] == first[end - 1] + 1; ++end) {
      }
      detail::row_block run = b;
      run.rows = static_cast<std::byte*>(b.rows) + first[i] * to_->type()->size;
      run.n = end - i;
      to_->append(run);
    }
  }

 private:
  const planner::vertex* v_;
  const vertex_tasks* tasks_;
  rows_buffer* to_;
  seen_keys seen_;
  std::size_t rows_ = 0;
};

// Begins with the first rows of parts; goes on with all rows from where these are many.
input_rows first_rows_of_parts(const planner::vertex& v, std::size_t input, const vertex_tasks& tasks) {
  const planner::branch& b = v.inputs[input];
  const bool as_it_is = b.stages.empty() && b.prefilters.empty();
  pipeline p(b, v.captures, tasks.context(), false, !as_it_is);
  if (p.source_rows().value_or(least_rows) < least_rows || tasks.context().shared) return {collect_rest(p), !as_it_is};
  std::atomic<std::size_t> rows = 0, kept = 0;
  std::vector<piece> pieces;
  part_windows parts(p);
  const auto reduce = [&](const pipeline::part& part, rows_buffer& out) {
    first_rows_of_part first(v, tasks, out);
    part.run(first);
    rows += first.rows();
    kept += out.size();
  };
  const bool on_heap = owns_heap(*p.row()) || owns_heap(*v.node->functions[0].result);
  const std::size_t least = on_heap ? least_rows_a_key_on_heap : least_rows_a_key;
  while (parts.run_next(p.row(), reduce, pieces) && kept * least <= rows) {
  }
  if (parts.ended()) return {side_by_side(std::move(pieces), p.row(), tasks), true};
  if (auto all = p.as_table()) {
    static_cast<void>(collect_rest(p));  // of which nothing is new: the run has read all rows then
    return {std::move(*all), false};
  }
  rows_buffer before(p.row(), tasks.pool());
  for (piece& some : pieces) before.take_all(*some.own());
  return {collect_rest(p, std::move(before)), true};
}

}  // namespace

void set_inputs::collect(std::size_t i, std::vector<piece> rows) {
  collected_[i] = input_rows{side_by_side(std::move(rows), v_->node->row, *tasks_), true};
}
bool set_inputs::collected() const {
  return std::any_of(collected_.begin(), collected_.end(), [](const auto& rows) { return rows.has_value(); });
}
input_rows set_inputs::take(std::size_t i) {
  if (collected_[i]) return std::move(*collected_[i]);
  return first_rows_of_parts(*v_, i, *tasks_);
}

}  // namespace query::cpu
