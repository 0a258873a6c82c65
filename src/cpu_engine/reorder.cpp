// reverse and sample.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/collected_rows.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/reordered_rows.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "runtime/drawn_rows.hpp"

namespace query::cpu {

namespace {

detail::table reversed(const input_rows& rows, std::uint64_t limit, const vertex_tasks& tasks) {
  const std::size_t n = rows.table.n;
  permutation ids(static_cast<std::size_t>(std::min<std::uint64_t>(n, limit)), n, tasks.pool());
  tasks.chunks(ids.size(), [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; ++i) ids.set(i, n - 1 - i);
  });
  return take_rows_by_id(rows, ids, tasks);
}

// Table by table, from the last one on.
class reversed_tables final : public made_tables {
 public:
  reversed_tables(std::shared_ptr<const made_tables> of, runtime::buffer_pool& pool)
      : made_tables(of->row()), of_(std::move(of)), pool_(&pool) {
    for (std::size_t t = of_->tables(); t-- > 0;) add_table(of_->begin_of(t + 1) - of_->begin_of(t));
  }

 private:
  std::size_t number_of(std::size_t t) const { return of_->tables() - 1 - t; }
  std::size_t bytes_for(std::size_t t) const override {
    const auto rows = static_cast<std::size_t>(begin_of(t + 1) - begin_of(t));
    return of_->bytes_to_make(number_of(t)) + rows * (row()->size + sizeof(std::uint32_t));
  }
  detail::table made(std::size_t t, runtime::scheduler& scheduler) const override {
    detail::table rows = of_->make_one(number_of(t), scheduler);
    permutation ids(rows.n, rows.n, *pool_);
    for (std::size_t i = 0; i < rows.n; ++i) ids.set(i, rows.n - 1 - i);
    return reordered_rows(std::move(rows), ids, *pool_);
  }

  std::shared_ptr<const made_tables> of_;
  runtime::buffer_pool* pool_;
};

}  // namespace

runtime::vertex_rows reverse_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  runtime::run_context& context = tasks.context();
  const std::size_t size = v.node->row->size, beside = size + sizeof(std::uint64_t);
  const collected_rows in = collect_as_memory_allows(v.inputs[0], v.captures, context, beside);
  const std::uint64_t n = std::min(in.size(), v.limit);
  const bool may_leave = may_leave_memory(v.node->row, context);
  if (!in.made && (!may_leave || in.rows.fresh || has_room_for(n, beside + in.row_heap, context))) {
    try {
      return reversed(in.rows, v.limit, tasks);
    } catch (const resource_error&) {  // copies own more than the rows of the sample
      if (!may_leave || in.rows.fresh) throw;
    }
  }
  return runtime::vertex_rows(range_of(std::make_shared<reversed_tables>(in.as_made(context), context.pool), 0, n));
}

namespace {

// Of a block of rows, those that were drawn: ids, in order, count rows from `first` on.
class drawn_sink final : public detail::batch_sink {
 public:
  drawn_sink(collected_parts::part& to, std::span<const std::uint64_t> ids, std::uint64_t first, std::size_t size)
      : to_(&to), next_(ids.begin()), end_(ids.end()), at_(first), size_(size) {}
  void push(const detail::row_block& b) override {
    const std::uint64_t behind = at_ + b.n;
    while (next_ != end_ && *next_ < behind) {  // runs of adjacent rows
      detail::row_block drawn;
      drawn.rows = static_cast<std::byte*>(b.rows) + (*next_ - at_) * size_;
      drawn.owned = b.owned;
      const std::uint64_t first = *next_;
      while (next_ != end_ && *next_ < behind && *next_ == first + drawn.n) ++next_, ++drawn.n;
      to_->push(drawn);
    }
    at_ = behind;
  }

 private:
  collected_parts::part* to_;
  std::span<const std::uint64_t>::iterator next_, end_;
  std::uint64_t at_;
  std::size_t size_;
};

// Of rows whose number is known, read once.
collected_rows drawn(const planner::vertex& v, pipeline& p, const vertex_tasks& tasks) {
  const std::uint64_t n = *p.source_rows();
  const ir::type* const row = p.row();
  shorten_parts_of_large_rows(p);
  collected_parts all(row, p.parts().value_or(1), 0, tasks.context());
  runtime::row_draw draw(n, v.node->count, v.node->seed);
  const std::size_t window = parts_at_once(tasks.context(), p.rows_a_part() * row->size);
  std::vector<std::uint64_t> ids;
  while (true) {
    ids.clear();
    draw.before(std::min<std::uint64_t>(n, (p.next_part() + window) * p.rows_a_part()), [&](std::uint64_t id) { ids.push_back(id); },
                [&] { tasks.cancel().check(); });
    const bool more = p.run_some(window, [&](const pipeline::part& part) {
      const std::uint64_t first = std::uint64_t{part.index} * p.rows_a_part(), end = first + p.rows_a_part();
      const auto from = std::lower_bound(ids.begin(), ids.end(), first), to = std::lower_bound(from, ids.end(), end);
      collected_parts::part out(all, part.index);
      drawn_sink sink(out, {from, to}, first, row->size);
      part.run(sink);
      out.finish();
    });
    if (!more) return std::move(all).rows(tasks);
  }
}

}  // namespace

runtime::vertex_rows sample_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  runtime::run_context& context = tasks.context();
  const planner::branch& b = v.inputs[0];
  const std::size_t size = v.node->row->size;
  const auto drawn_of_table = [&](const input_rows& rows) {
    const auto wanted = static_cast<std::size_t>(v.node->count);
    permutation ids(wanted, rows.table.n, tasks.pool());
    std::size_t k = 0;
    runtime::draw_rows(rows.table.n, wanted, v.node->seed, [&](std::uint64_t row) { ids.set(k++, static_cast<std::size_t>(row)); },
                       [&] { tasks.cancel().check(); });
    return take_rows_by_id(rows, ids, tasks);
  };
  const bool may_leave = may_leave_memory(v.node->row, context);
  if (auto made = may_leave ? made_as_they_are(b, context) : nullptr; made && v.node->count >= made->size())
    return runtime::vertex_rows(std::move(made));
  pipeline p(b, v.captures, context, false, true);
  const std::size_t row_heap = row_heap_bytes(p);
  if (p.source_rows() && p.keeps_rows() && v.node->count < *p.source_rows() && may_leave) {
    const std::size_t side_by_side = p.in_place() && p.as_tables().size() == 1 ? 0 : size + row_heap;
    if (!p.in_place() || !has_room_for(*p.source_rows(), side_by_side, context) ||
        !has_room_for(v.node->count, size + row_heap + sizeof(std::uint64_t), context))
      return drawn(v, p, tasks).as_vertex_rows();
  }
  const collected_rows in =
      p.in_place() ? collected_rows{{collect_rest(p), false}, nullptr, row_heap} : collect_rest_as_memory_allows(p, size);
  if (v.node->count >= in.size()) return in.as_vertex_rows();
  if (!in.made) return drawn_of_table(in.rows);
  const branch_of_rows all(v.node->row, in.as_vertex_rows(), context);
  pipeline rows(all.get(), {}, context, false, true);
  return drawn(v, rows, tasks).as_vertex_rows();
}

}  // namespace query::cpu
