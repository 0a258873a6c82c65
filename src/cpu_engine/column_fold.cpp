#include "cpu_engine/column_fold.hpp"

#include <algorithm>
#include <optional>

#include <query/errors.hpp>

#include "cpu_engine/number_tests.hpp"
#include "planner/column_fold.hpp"

namespace query::cpu {

namespace {

class fold_stage final : public prepared_stage {
 public:
  explicit fold_stage(const planner::branch& b) : fold_(b.stages.front().fold), source_(b.source->row) {
    if (!fold_->where.tests.empty()) tests_.emplace(std::shared_ptr<const planner::number_predicate>(fold_, &fold_->where));
  }
  std::unique_ptr<stage_runner> start(detail::batch_sink&) const override { return std::make_unique<runner>(*this); }

 private:
  class runner final : public stage_runner {
   public:
    explicit runner(const fold_stage& s) : stage_(&s) {}
    void push(const detail::row_block&) override { throw internal_error("query: a fold of columns hands no rows on"); }
    bool fold(detail::fold_kind kind, const detail::row_block& b, detail::fold_state& state) override {
      const planner::number_operand& x = stage_->fold_->value;
      const fold_loop* const loop = kind == detail::fold_kind::count ? nullptr : &kernels_here().fold(kind, x.as);
      if (loop) loop->begin(lanes_, state);
      std::uint64_t rows = 0;
      for (std::size_t from = 0; from < b.n; from += fold_run_rows) {
        const std::size_t n = std::min(fold_run_rows, b.n - from);
        columns_of_source(stage_->fold_->source, stage_->source_, b.columns, from, columns_);
        const std::size_t marked = stage_->tests_ ? stage_->tests_->run(columns_, n, scratch_) : n;
        rows += marked;
        if (loop && marked) loop->add(lanes_, numbers_of(x, columns_, n, scratch_), marked == n ? nullptr : scratch_.mask(), n);
      }
      if (loop) loop->end(lanes_, rows, state);
      else state.count += rows;
      return true;
    }

   private:
    const fold_stage* stage_;
    std::vector<column> columns_;
    number_scratch scratch_;
    fold_lanes lanes_;
  };

  std::shared_ptr<const planner::column_fold> fold_;
  const ir::type* source_;
  std::optional<number_tests> tests_;
};

}  // namespace

std::unique_ptr<prepared_stage> make_column_fold(const planner::branch& b) { return std::make_unique<fold_stage>(b); }

}  // namespace query::cpu
