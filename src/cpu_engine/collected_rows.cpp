#include "cpu_engine/collected_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/column_list.hpp"
#include "cpu_engine/partitioned_tables.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/table_estimate.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t share_of_fetched = 4;  // of the memory that is left, for rows that come back from a store
constexpr std::size_t share_of_part = 16;    // of the session's memory, for what one task gives

class table_slices final : public made_tables {
 public:
  table_slices(const detail::table& all, std::size_t row_heap, runtime::buffer_pool& pool)
      : made_tables(all.type), all_(all), row_bytes_(all.type->size + row_heap), pool_(&pool) {
    const std::size_t most = rows_a_table(row_bytes_, pool);
    while (size() < all.n) add_table(std::min<std::uint64_t>(most, all.n - size()));
  }

 private:
  std::size_t bytes_for(std::size_t t) const override { return static_cast<std::size_t>(begin_of(t + 1) - begin_of(t)) * row_bytes_; }
  detail::table made(std::size_t t, runtime::scheduler&) const override {
    const detail::table of = slice(all_, begin_of(t), begin_of(t + 1) - begin_of(t));
    rows_buffer rows(row(), *pool_);
    rows.reserve(of.n);
    rows.append_rows(of.rows, of.n);
    return std::move(rows).to_table();
  }

  detail::table all_;
  std::size_t row_bytes_;
  runtime::buffer_pool* pool_;
};

}  // namespace

std::shared_ptr<made_tables> collected_rows::as_made(const runtime::run_context& context) const {
  return made ? made : std::make_shared<table_slices>(rows.table, row_heap, context.pool);
}
runtime::vertex_rows collected_rows::range(std::uint64_t first, std::uint64_t n) const {
  return made ? runtime::vertex_rows(range_of(made, first, n)) : runtime::vertex_rows(slice(rows.table, first, n));
}

runtime::vertex_rows collected_rows::partitioned(std::vector<std::size_t> ends) const {
  if (!made) return runtime::with_bounds(rows.table, std::move(ends));
  return runtime::vertex_rows(std::make_shared<partitioned_tables>(made, std::move(ends)));
}

bool may_leave_memory(const ir::type* row, const runtime::run_context& context) {
  return context.pool.limit() && context.temp && !context.shared && stored_sequence::can_keep(row);
}
bool has_room_for(std::uint64_t rows, std::size_t row_bytes, const runtime::run_context& context) {
  return !context.pool.limit() || fits_in(static_cast<double>(rows) * static_cast<double>(row_bytes), memory_left(context.pool));
}

collected_rows collect_as_memory_allows(const planner::branch& b, const std::vector<planner::binding>& captures,
                                        runtime::run_context& context, std::size_t beside) {
  if (auto made = made_as_they_are(b, context)) return {{}, std::move(made)};
  if (!may_leave_memory(b.row, context))
    return {{collect(b, captures, context), !b.stages.empty() || !b.prefilters.empty()}, nullptr};
  auto p = std::make_unique<pipeline>(b, captures, context, false, true);
  const auto n = p->source_rows();
  const std::size_t row_heap = row_heap_bytes(*p);
  if (p->in_place() && (p->as_tables().size() == 1 || has_room_for(*n, b.row->size, context)))
    return {{collect_rest(*p), false}, nullptr, row_heap};
  if (n && p->keeps_rows() && !p->in_place() && has_room_for(*n, b.row->size + row_heap + beside, context)) {
    const bool comes_again = !p->made_as_read();
    try {
      return {{collect_rest(*p), true}, nullptr, row_heap};
    } catch (const resource_error&) {  // rows own more than those of the sample
      if (!comes_again || !heap_charge::counts(*b.row, context.pool)) throw;
      p = std::make_unique<pipeline>(b, captures, context, false, true);
    }
  }
  return collect_rest_as_memory_allows(*p, beside);
}
collected_rows collect_rest_as_memory_allows(pipeline& p, std::size_t beside) {
  collected_parts all(p.row(), p.parts().value_or(1), beside, p.context());
  p.run_all([&](const pipeline::part& part) {
    collected_parts::part to(all, part.index);
    part.run(to);
    to.finish();
  });
  return std::move(all).rows(vertex_tasks(p.context(), std::vector<detail::binding>{}));
}

std::optional<runtime::vertex_rows> streamed_into_store(const planner::vertex& v, runtime::run_context& context) {
  if (!may_leave_memory(v.row(), context) || context.verify) return std::nullopt;
  const auto most = most_table_bytes(v, context);
  if (most && has_room_for(*most, 1, context)) return std::nullopt;
  const struct streamed {
    streamed(const planner::vertex& w, runtime::run_context& c) : vertex(&w), context(&c) { c.too_large.insert(vertex); }
    streamed(const streamed&) = delete;
    streamed& operator=(const streamed&) = delete;
    ~streamed() { context->too_large.erase(vertex); }
    const planner::vertex* vertex;
    runtime::run_context* context;
  } handed_on(v, context);
  planner::branch b;
  b.table = const_cast<planner::vertex*>(&v);
  b.row = v.row();
  b.number = -1;
  return collect_as_memory_allows(b, {}, context).as_vertex_rows();
}

runtime::vertex_rows settled_rows(const runtime::vertex_rows& rows, runtime::run_context& context) {
  if (rows.here() || std::dynamic_pointer_cast<stored_sequence>(rows.kept)) return rows;
  // Readers of what a loop gives, or of its variable, know records.
  if (const auto columns = std::dynamic_pointer_cast<column_list>(rows.kept)) return columns->fetch(context);
  const auto made = std::dynamic_pointer_cast<made_tables>(rows.kept);
  if (!made) return rows;
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  collected_parts all(made->row(), made->tables(), 0, context);
  table_pass pass(made, context);
  std::size_t number = 0;
  for (detail::table t; pass.next(t);) {
    detail::row_block b;
    b.rows = const_cast<void*>(t.rows);
    b.n = t.n;
    b.owned = true;
    collected_parts::part to(all, number++);
    to.push(b);
    to.finish();
  }
  collected_rows given = std::move(all).rows(tasks);
  if (const auto* parts = dynamic_cast<const partitioned_tables*>(made.get())) return given.partitioned(parts->ends());
  return given.as_vertex_rows();
}

// ---------------------------------------------------------------- parts
collected_parts::collected_parts(const ir::type* row, std::size_t parts, std::size_t beside, runtime::run_context& context)
    : row_(row), parts_(parts), context_(&context), most_bytes_(~std::size_t{0}), most_of_part_(~std::size_t{0}) {
  if (!may_leave_memory(row, context)) return;
  // They are put side by side in the end. Buffers come in classes of size, and grow.
  const double left = static_cast<double>(memory_left(context.pool)) / 1.5, size = static_cast<double>(row->size);
  most_bytes_ = static_cast<std::size_t>(left * size / (2 * size + static_cast<double>(beside)));
  most_of_part_ = std::max<std::size_t>(context.pool.limit() / share_of_part, std::size_t{64} << 10);
}

void collected_parts::begin_store() {
  const std::lock_guard hold(lock_);
  if (store_) return;
  store_ = std::make_shared<stored_sequence>(row_, nullptr, parts_, *context_);
  stored_ = true;
  while (!held_.empty()) {
    auto first = held_.extract(held_.begin());
    stored_sequence::writer to(*store_, first.key());
    detail::row_block b;
    b.rows = first.mapped().data();
    b.n = first.mapped().size();
    b.owned = true;
    to.push(b);
    to.finish();
  }
}

// Of few rows in a buffer that has room for a batch.
static rows_buffer without_room(rows_buffer rows, runtime::buffer_pool& pool) {
  if (rows.size() > batch_rows / 2) return rows;
  rows_buffer exact(rows.type(), pool);
  exact.reserve(rows.size());
  exact.take_all(rows);
  return exact;
}

void collected_parts::part::reserve(std::size_t rows) {
  if (rows * to_->row_->size <= to_->most_of_part_) rows_.reserve(rows);
}

void collected_parts::part::move_to_store() {
  to_->begin_store();
  writer_.emplace(*to_->store_, number_);
  detail::row_block b;
  b.rows = rows_.data();
  b.n = rows_.size();
  b.owned = true;
  if (b.n) writer_->push(b);
  rows_ = rows_buffer(to_->row_, to_->context_->pool);
}

void collected_parts::part::push(const detail::row_block& b) {
  if (!writer_ && to_->stored_) move_to_store();
  if (writer_) {
    writer_->push(b);
    return;
  }
  if (rows_.size() * to_->row_->size + b.n * to_->row_->size > to_->most_of_part_) {
    move_to_store();
    writer_->push(b);
    return;
  }
  rows_.append(b);
  const std::size_t now = rows_.size() * to_->row_->size + rows_.heap().bytes(), more = now - counted_;
  counted_ = now;
  if ((to_->bytes_ += more) > to_->most_bytes_ || now > to_->most_of_part_) move_to_store();
}

void collected_parts::part::finish() {
  if (!writer_) {
    const std::lock_guard hold(to_->lock_);
    if (!to_->store_) {
      if (rows_.size()) to_->held_.emplace(number_, without_room(std::move(rows_), to_->context_->pool));
      return;
    }
  }
  if (!writer_) move_to_store();
  writer_->finish();
}

collected_rows collected_parts::rows(const vertex_tasks& tasks) && {
  if (!store_) {
    std::vector<piece> pieces;
    for (auto& [number, rows] : held_) pieces.emplace_back(std::move(rows));
    const std::size_t heap = row_heap_in(pieces);
    return {{side_by_side(std::move(pieces), row_, tasks), true}, nullptr, heap};
  }
  store_->finish(*context_);
  const std::size_t heap = store_->row_heap();
  if (has_room_for(store_->size() * share_of_fetched, row_->size + heap, *context_))
    return {{store_->fetch(*context_), true}, nullptr, heap};
  return {{}, std::move(store_), heap};
}

// ---------------------------------------------------------------- a branch
branch_of_rows::branch_of_rows(const ir::type* row, runtime::vertex_rows rows, runtime::run_context& context)
    : vertex_(std::make_unique<planner::vertex>()), context_(&context) {
  vertex_->inputs.emplace_back().row = row;
  branch_.table = vertex_.get();
  branch_.row = row;
  branch_.number = -1;
  context.tables[vertex_.get()] = std::move(rows);
}

}  // namespace query::cpu
