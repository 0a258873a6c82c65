#include "cpu_engine/column_steps.hpp"

#include <algorithm>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "cpu_engine/captured.hpp"
#include "cpu_engine/code_verdicts.hpp"
#include "cpu_engine/column_list.hpp"
#include "cpu_engine/dictionary.hpp"
#include "cpu_engine/number_tests.hpp"
#include "cpu_engine/placed_calls.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "ir/analysis.hpp"
#include "planner/column_forms.hpp"

namespace query::cpu {

using detail::logical;
using detail::verb;

namespace {

[[noreturn]] void not_columnar() { throw internal_error("query: a stage was planned for columns and cannot read them"); }

interpreter::binding rows_in(std::span<const column> columns) {
  interpreter::binding b;
  b.columns = columns;
  return b;
}

class test_step final : public column_step {
 public:
  test_step(planner::interpretation f, const planner::column_schema& rows, const logical* node)
      : function_(std::move(f)), program_(function_.expression.root), verdicts_(function_.expression.root, rows), node_(node) {}
  std::unique_ptr<column_sink> start(column_sink& next) const override { return std::make_unique<runner>(*this, next); }

 private:
  class runner final : public column_sink {
   public:
    runner(const test_step& s, column_sink& next) : step_(&s), next_(&next) {}
    void push(const column_batch& b) override {
      const auto test = [&](std::span<const column> columns, std::size_t n, bool* pass) {
        const interpreter::binding rows = rows_in(columns);
        const auto collections = captured_collections(step_->function_.captures);
        placed_calls(step_->node_, [&] { step_->program_.filter({&rows, 1}, {collections, {}}, n, pass, scratch_); });
      };
      std::size_t n = 0;
      if (const auto found = step_->verdicts_.find(b, test, chosen_)) {
        n = *found;
      } else {
        test(b.columns, b.n, pass_);
        for (std::size_t i = 0; i < b.n; ++i) {
          chosen_[n] = static_cast<std::uint32_t>(i);
          n += pass_[i];
        }
      }
      if (n == b.n) next_->push(b);
      else if (n) next_->push({narrowed_.narrow(b.columns, chosen_, n), n});
    }

   private:
    const test_step* step_;
    column_sink* next_;
    interpreter::scratch scratch_;
    narrowed_columns narrowed_;
    bool pass_[column_batch_rows];
    std::uint32_t chosen_[column_batch_rows];
  };
  planner::interpretation function_;
  interpreter::program program_;
  code_verdicts verdicts_;
  const logical* node_;
};

// The same of a predicate of numbers.
class number_step final : public column_step {
 public:
  explicit number_step(planner::number_predicate p) : tests_(std::make_shared<const planner::number_predicate>(std::move(p))) {}
  std::unique_ptr<column_sink> start(column_sink& next) const override { return std::make_unique<runner>(tests_, next); }

 private:
  class runner final : public column_sink {
   public:
    runner(const number_tests& t, column_sink& next) : tests_(&t), next_(&next) {}
    void push(const column_batch& b) override {
      const std::size_t n = tests_->run(b.columns, b.n, scratch_);
      if (n == b.n) return next_->push(b);
      if (n == 0) return;
      tests_->kernels().select(scratch_.mask(), b.n, chosen_);
      next_->push({narrowed_.narrow(b.columns, chosen_, n), n});
    }

   private:
    const number_tests* tests_;
    column_sink* next_;
    number_scratch scratch_;
    narrowed_columns narrowed_;
    std::uint32_t chosen_[column_batch_rows + 8];
  };
  number_tests tests_;
};

class projection_step final : public column_step {
 public:
  projection_step(planner::projection p, const logical* node, runtime::buffer_pool& pool) : projector_(std::move(p), node), pool_(&pool) {}
  std::unique_ptr<column_sink> start(column_sink& next) const override { return std::make_unique<runner>(*this, next); }

 private:
  class runner final : public column_sink {
   public:
    runner(const projection_step& s, column_sink& next) : projector_(s.projector_, *s.pool_), next_(&next) {}
    void push(const column_batch& b) override { next_->push({projector_.run(b.columns, {}, b.n), b.n, b.first}); }

   private:
    column_projector::runner projector_;
    column_sink* next_;
  };
  column_projector projector_;
  runtime::buffer_pool* pool_;
};

// Records of each batch, put together over those of the last one; records that lie side by side stay where they are.
class record_sink final : public column_sink {
 public:
  record_sink(const planner::column_schema& schema, const ir::type* row, runtime::buffer_pool& pool, detail::batch_sink& next)
      : schema_(&schema), rows_(row, pool), next_(&next) {}
  void push(const column_batch& b) override {
    if (counted_) {
      *counted_ += b.n;
      return;
    }
    // Fewer at a time where they are large.
    const std::size_t most = rows_a_batch(rows_.type()->size);
    if (b.n <= most) return add(b);
    for (std::size_t from = 0; from < b.n; from += most) {
      part_.clear();
      for (const column& c : b.columns) part_.push_back(part_of(c, from));
      add({part_, std::min(most, b.n - from), b.first + from});
    }
  }
  bool reads_columns() const override { return !counted_; }
  // Nobody reads the rows.
  void count_into(std::uint64_t* count) { counted_ = count; }
  // Records of several batches wait for hand_on().
  void keep_blocks() { keeps_blocks_ = true; }
  void hand_on() {
    if (!out_.n) return;
    out_.owned = out_.rows == rows_.data();
    const detail::row_block out = std::exchange(out_, {});
    next_->push(out);
  }

 private:
  std::size_t width() const { return rows_.type()->size; }
  bool are_records(std::span<const column> columns) const {
    return columns.size() == 1 && schema_->columns[0].type == rows_.type() && columns[0].side_by_side(width());
  }
  void add(const column_batch& b) {
    const bool follows = out_.n && are_records(b.columns) && b.columns[0].base == static_cast<std::byte*>(out_.rows) + out_.n * width();
    if (!out_.n) out_.first = b.first;
    if (!follows) put_behind(b);
    out_.n += b.n;
    if (!keeps_blocks_) hand_on();
  }
  void put_behind(const column_batch& b) {
    if (!out_.n && are_records(b.columns)) {
      out_.rows = const_cast<void*>(b.columns[0].base);
      return;
    }
    const void* const before = out_.n ? out_.rows : nullptr;
    const bool ours = before && before == rows_.data();
    make_records(out_.n + b.n);
    if (before && !ours) {
      const column in_place{before, width(), 0, width()};
      gather_column(in_place, rows_.type(), out_.n, rows_.data(), width(), true);
    }
    assemble_rows(*schema_, b, rows_.at(out_.n), width());
    out_.rows = rows_.data();
  }
  void make_records(std::size_t n) {
    if (n <= rows_.size()) return;
    const ir::type* t = rows_.type();
    const std::size_t more = n - rows_.size();
    void* const raw = rows_.extend(more);
    if (t->life.construct) t->life.construct(raw, more);
    rows_.grow(more);
  }
  const planner::column_schema* schema_;
  rows_buffer rows_;
  detail::batch_sink* next_;
  std::vector<column> part_;
  std::uint64_t* counted_ = nullptr;
  bool keeps_blocks_ = false;
  detail::row_block out_;  // what has not been handed on
};

class record_stage final : public prepared_stage {
 public:
  record_stage(std::shared_ptr<const column_steps> s, runtime::buffer_pool& pool) : steps_(std::move(s)), pool_(&pool) {}
  std::unique_ptr<stage_runner> start(detail::batch_sink& next) const override { return std::make_unique<runner>(*this, next); }

 private:
  class runner final : public stage_runner {
   public:
    runner(const record_stage& s, detail::batch_sink& next)
        : records_(s.steps_->schema(), s.steps_->row(), *s.pool_, next), steps_(*s.steps_, records_) {}
    void push(const detail::row_block& b) override {
      steps_.push(b);
      records_.hand_on();
    }
    void keep_blocks() override { records_.keep_blocks(); }
    bool fold(detail::fold_kind k, const detail::row_block& b, detail::fold_state& state) override {
      if (k != detail::fold_kind::count) return false;
      records_.count_into(&state.count);
      steps_.push(b);
      return true;
    }

   private:
    record_sink records_;
    column_steps::runner steps_;
  };
  std::shared_ptr<const column_steps> steps_;
  runtime::buffer_pool* pool_;
};

}  // namespace

// ---------------------------------------------------------------- steps
column_steps::column_steps(const planner::branch& b, bool prefilters, std::size_t n, const std::vector<detail::binding>& bindings,
                           runtime::run_context& context, std::shared_ptr<const column_list> list, bool passing)
    : source_row_(b.table ? b.table->row() : b.source->row),
      row_(source_row_),
      list_(std::move(list)),
      source_schema_(planner::source_schema(b)),
      schema_(source_schema_),
      passing_(passing) {
  if (b.source && !b.table && !list_) coded_ = coded_columns(*b.source, source_schema_);
  for (const planner::prefilter& f : prefilters ? std::span(b.prefilters) : std::span<const planner::prefilter>()) {
    if (f.expression) {
      planner::interpretation test;
      test.expression = f.expression;
      add_test(std::move(test), nullptr);
    } else {
      add_test(*f.function, nullptr);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const planner::stage& s = b.stages[i];
    row_ = s.out;
    if (s.what == planner::stage::kind::probe) {
      steps_.push_back(make_column_probe(s, schema_, bindings, context));
      keeps_rows_ = only_tests_ = false;
      continue;
    }
    for (const logical* node : s.nodes) {
      placed_calls(node, [&] {
        if (node->what == verb::where) return add_test(node->functions.front(), node);
        auto p = planner::project(node->functions.front(), schema_);
        if (!p) not_columnar();
        schema_ = p->schema();
        only_tests_ = false;
        steps_.push_back(std::make_unique<projection_step>(std::move(*p), node, context.pool));
      });
    }
  }
}
column_steps::~column_steps() = default;

void column_steps::add_test(const detail::user_function& f, const logical* node) {
  auto test = planner::evaluate(f, schema_);
  if (!test) not_columnar();
  add_test(std::move(*test), node);
}
void column_steps::add_test(planner::interpretation test, const logical* node) {
  if (auto numbers = planner::number_predicate_of(test.expression.root, schema_))
    steps_.push_back(std::make_unique<number_step>(std::move(*numbers)));
  else steps_.push_back(std::make_unique<test_step>(std::move(test), schema_, node));
  keeps_rows_ = false;
}

void column_steps::columns_of(const void* const* bases, std::size_t from, std::vector<column>& to) const {
  columns_of_source(source_schema_, source_row_, bases, from, to);
  coded_.put(bases, from, to);
}

column_steps::runner::runner(const column_steps& s, column_sink& to) : of_(&s), head_(&to) {
  for (std::size_t i = s.steps_.size(); i-- > 0;) {
    started_.push_back(s.steps_[i]->start(*head_));
    head_ = started_.back().get();
  }
}

void column_steps::runner::push(const detail::row_block& b) {
  const std::size_t most = rows_a_batch(std::max(of_->source_row_->size, of_->row_->size));
  if (of_->list_) {
    of_->list_->each_batch(b.first, b.n, most, [&](const column_batch& rows) { head_->push(rows); });
    return;
  }
  for (std::size_t from = 0; from < b.n; from += most) {
    if (b.columns) of_->columns_of(b.columns, from, columns_);
    else columns_of_rows(of_->source_schema_, b.rows, of_->source_row_->size, from, columns_);
    if (of_->passing_)
      for (column& c : columns_) c.transient = true;
    head_->push({columns_, std::min(most, b.n - from), b.first + from});
  }
}

std::unique_ptr<prepared_stage> records_of(std::shared_ptr<const column_steps> steps, runtime::run_context& context) {
  return std::make_unique<record_stage>(std::move(steps), context.pool);
}

// ---------------------------------------------------------------- projections
constant_value::constant_value(const ir::node* expression)
    : type_(expression->type),
      memory_(std::make_unique<std::max_align_t[]>((type_->size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t))) {
  interpreter::scratch scratch;
  interpreter::program(expression).run({}, {}, 1, memory_.get(), scratch);
}
constant_value::~constant_value() {
  if (memory_ && type_->life.destroy) type_->life.destroy(memory_.get(), 1);
}

column_projector::column_projector(planner::projection p, const logical* node) : projection_(std::move(p)), node_(node) {
  for (const planner::projected_part& part : projection_.parts) {
    if (part.computed) programs_.emplace_back(part.computed, projection_.function.expression.root);
    if (part.otherwise) constants_.emplace_back(part.otherwise);
  }
}

column_projector::runner::runner(const column_projector& p, runtime::buffer_pool& pool) : of_(&p) {
  for (const planner::projected_part& part : p.projection_.parts)
    if (part.computed) computed_.emplace_back(part.type, pool);
  scratches_.resize(computed_.size());
}

std::span<const column> column_projector::runner::run(std::span<const column> left, std::span<const column> right, std::size_t n) {
  const std::span<const column> sides[2] = {left, right};
  const interpreter::binding rows[2] = {rows_in(left), rows_in(right)};
  const auto collections = captured_collections(of_->projection_.function.captures);
  columns_.clear();
  std::size_t program = 0, constant = 0;
  for (const planner::projected_part& part : of_->projection_.parts) {
    if (!part.computed) {
      column c = sides[part.side][part.column];
      c.base = static_cast<const std::byte*>(c.base) + part.within;
      c.offset = part.to;
      c.size = part.type->size;
      if (part.wraps) c.wraps = true;
      if (part.otherwise) c.otherwise = of_->constants_[constant++].at();
      columns_.push_back(c);
      continue;
    }
    rows_buffer& values = computed_[program];
    values.clear();
    placed_calls(of_->node_, [&] { of_->programs_[program].run(rows, {collections, {}}, n, values.extend(n), scratches_[program]); });
    values.grow(n);
    columns_.push_back({values.data(), part.type->size, part.to, part.type->size, nullptr, true});
    ++program;
  }
  return columns_;
}

// ---------------------------------------------------------------- values
column_values::column_values(const detail::user_function& f, const planner::column_schema& schema) : type_(f.result) {
  auto found = planner::evaluate(f, schema);
  if (!found) not_columnar();
  function_ = std::move(*found);
  const auto part = function_.expression.root->type == type_ ? planner::part_of_column(function_.expression.root, schema) : std::nullopt;
  if (part) part_ = *part;
  else program_.emplace(function_.expression.root);
}

const void* column_values::in_place(std::span<const column> columns) const {
  if (program_) return nullptr;
  const column& c = columns[part_.column];
  return c.side_by_side(type_->size) ? static_cast<const std::byte*>(c.base) + part_.within : nullptr;
}

const column* column_values::coded(std::span<const column> columns) const {
  if (program_) return nullptr;
  const column& c = columns[part_.column];
  return c.coded && c.coded->type() == type_ && c.as_stored() ? &c : nullptr;
}

void column_values::map(std::span<const column> columns, std::size_t n, void* out, interpreter::scratch& s) const {
  if (program_) {
    const interpreter::binding rows = rows_in(columns);
    const auto collections = captured_collections(function_.captures);
    program_->run({&rows, 1}, {collections, {}}, n, out, s);
    return;
  }
  column c = columns[part_.column];
  c.base = static_cast<const std::byte*>(c.base) + part_.within;
  gather_column(c, type_, n, out, type_->size, false);
}

const void* column_values::adjacent(std::span<const column> columns, std::size_t n, rows_buffer& memory, interpreter::scratch& s) const {
  if (const void* there = in_place(columns)) return there;
  memory.clear();
  map(columns, n, memory.extend(n), s);
  memory.grow(n);
  return memory.data();
}

}  // namespace query::cpu
