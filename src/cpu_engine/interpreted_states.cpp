#include "cpu_engine/interpreted_states.hpp"

#include <algorithm>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/aggregate_column.hpp"
#include "cpu_engine/captured.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

std::shared_ptr<const interpreter::program> compiled(const ir::node* n) {
  return n ? std::make_shared<const interpreter::program>(n) : nullptr;
}

class interpreted_states final : public group_states {
 public:
  interpreted_states(std::shared_ptr<const group_expressions> e, runtime::buffer_pool& pool) : expressions_(std::move(e)), pool_(&pool) {
    for (const auto& c : expressions_->calls()) {
      columns_.push_back(make_aggregate_column(c, expressions_->row(), pool));
      arguments_.emplace_back(c.what.argument ? c.what.argument->type : ir::describe<std::int64_t>(), pool);
    }
    scratches_.resize(columns_.size());
  }

  void grow_to(std::size_t n) override {
    for (auto& c : columns_) c->grow_to(n);
  }
  void update(const std::uint32_t* groups, const void* rows, const std::uint32_t* select, std::size_t n) override {
    const auto collections = captured_collections(expressions_->captures());
    const std::size_t size = expressions_->row()->size;
    for (std::size_t from = 0; from < n; from += batch_rows) {
      aggregate_batch b;
      b.n = std::min(batch_rows, n - from);
      b.groups = groups ? groups + from : nullptr;
      b.rows = select ? rows : static_cast<const std::byte*>(rows) + from * size;
      b.select = select ? select + from : nullptr;
      b.collections = collections;
      interpreter::binding row;
      row.base = b.rows;
      row.stride = size;
      row.select = b.select;
      update_all(b, row);
    }
  }
  void update(const std::uint32_t* groups, const column_batch& rows) override {
    const auto collections = captured_collections(expressions_->captures());
    aggregate_batch b;
    b.n = rows.n;
    b.groups = groups;
    b.collections = collections;
    interpreter::binding row;
    row.columns = rows.columns;
    update_all(b, row);
  }
  void merge(const std::uint32_t* groups, group_states& from, const state_numbers& of) override {
    const auto collections = captured_collections(expressions_->captures());
    auto& o = static_cast<interpreted_states&>(from);
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i]->merge(groups, *o.columns_[i], of, collections);
  }
  void finish(const void* keys, std::size_t first, std::size_t n, void* out) override {
    const auto collections = captured_collections(expressions_->captures());
    const ir::type* type = expressions_->finish().type();
    const std::size_t key_size = expressions_->key() ? expressions_->key_type()->size : 0;
    new_rows made(type, out);
    for (std::size_t from = 0; from < n; from += batch_rows) {
      const std::size_t k = std::min(batch_rows, n - from);
      std::vector<interpreter::bound_value> values;
      if (expressions_->key()) values.push_back({expressions_->key(), static_cast<const std::byte*>(keys) + from * key_size, key_size});
      std::vector<rows_buffer> results;
      results.reserve(columns_.size());
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const ir::node* source = expressions_->calls()[i].what.source;
        rows_buffer& r = results.emplace_back(source->type, *pool_);
        columns_[i]->result(first + from, k, r.extend(k), collections);
        r.grow(k);
        values.push_back({source, r.data(), source->type->size});
      }
      expressions_->finish().run({}, {collections, values}, k, made.end(), scratch_);
      made.grow(k);
    }
    made.release();
  }
  void result(std::size_t aggregate, std::size_t first, std::size_t n, void* out) override {
    columns_[aggregate]->result(first, n, out, captured_collections(expressions_->captures()));
  }
  void clear() override { columns_.clear(); }
  std::size_t heap_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& c : columns_) bytes += c->heap_bytes();
    return bytes;
  }
  std::size_t state_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& c : columns_) bytes += c->state_bytes();
    return bytes;
  }
  void save(std::size_t i, std::byte* to) override {
    for (auto& c : columns_) {
      c->save(i, to);
      to += c->state_bytes();
    }
  }
  void load(std::size_t i, const std::byte* from) override {
    for (auto& c : columns_) {
      c->load(i, from);
      from += c->state_bytes();
    }
  }

 private:
  void update_all(aggregate_batch& b, const interpreter::binding& row) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      b.arguments = arguments_of(i, b, row);
      b.owned = b.arguments && b.arguments == arguments_[i].data();
      columns_[i]->update(b);
    }
  }
  // The values of an aggregate's argument, contiguous; null if it has no argument.
  const void* arguments_of(std::size_t i, const aggregate_batch& b, const interpreter::binding& row) {
    const group_expressions::call& call = expressions_->calls()[i];
    if (!call.argument) return nullptr;
    const ir::type* t = call.argument->type();
    rows_buffer& values = arguments_[i];
    values.clear();
    if (!row.columns.empty() && call.part) {
      column c = row.columns[call.part->column];
      c.base = static_cast<const std::byte*>(c.base) + call.part->within;
      if (c.side_by_side(t->size)) return c.base;
      gather_column(c, t, b.n, values.extend(b.n), t->size, false);
    } else {
      call.argument->run({&row, 1}, {b.collections, {}}, b.n, values.extend(b.n), scratches_[i]);
    }
    values.grow(b.n);
    return values.data();
  }

  std::shared_ptr<const group_expressions> expressions_;
  runtime::buffer_pool* pool_;
  std::vector<std::unique_ptr<aggregate_column>> columns_;
  std::vector<rows_buffer> arguments_;
  std::vector<interpreter::scratch> scratches_;  // one for each argument: a scratch is laid out for one program
  interpreter::scratch scratch_;
};

}  // namespace

std::size_t aggregate_column::state_bytes() const { throw internal_error("query: states that cannot be sent"); }
void aggregate_column::save(std::size_t, std::byte*) { (void)state_bytes(); }
void aggregate_column::load(std::size_t, const std::byte*) { (void)state_bytes(); }

group_expressions::group_expressions(const ir::group_plan& plan, const detail::user_function& f, const ir::type* row,
                                     const planner::column_schema* columns, bool gives_columns)
    : plan_(plan), captures_(planner::captures_of(f)), row_(row) {
  if (!gives_columns) finish_.emplace(plan.finish);
  for (const ir::aggregate_call& c : plan_.calls)
    calls_.push_back({c, compiled(c.argument), columns && c.argument ? planner::part_of_column(c.argument, *columns) : std::nullopt,
                      compiled(c.seed), compiled(c.update), compiled(c.combine), compiled(c.finish), nullptr});
}

void group_expressions::spill_distinct(runtime::run_context& context) {
  for (call& c : calls_)
    if (c.what.what == ir::aggregate_kind::count_distinct) c.spill = make_distinct_spill(c.what, context);
}

std::unique_ptr<group_states> make_interpreted_states(std::shared_ptr<const group_expressions> expressions, runtime::buffer_pool& pool) {
  return std::make_unique<interpreted_states>(std::move(expressions), pool);
}

std::unique_ptr<aggregate_column> make_aggregate_column(const group_expressions::call& call, const ir::type* row,
                                                        runtime::buffer_pool& pool) {
  if (call.what.what == ir::aggregate_kind::custom) return make_custom_column(call, row, pool);
  if (call.what.what == ir::aggregate_kind::count_distinct) return make_distinct_column(call.what, call.spill, pool);
  if (auto c = make_number_column(call.what, pool)) return c;
  return make_value_column(call.what, row, pool);
}

}  // namespace query::cpu
