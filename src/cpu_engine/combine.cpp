// concat, zip, default_if_empty.
#include <algorithm>
#include <iterator>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/collected_columns.hpp"
#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/pair_calls.hpp"
#include "cpu_engine/row_prefix.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "cpu_engine/vertex_streams.hpp"

namespace query::cpu {

detail::table rows_of_inputs(const planner::vertex& v, std::uint64_t limit, const vertex_tasks& tasks) {
  std::vector<piece> all;
  std::uint64_t reached = 0;  // rows in the pieces that were counted
  std::size_t counted = 0;
  const auto rows = [&] {
    for (; counted < all.size(); ++counted) reached += all[counted].size();
    return reached;
  };
  for (std::size_t i = 0; i < v.inputs.size() && rows() < limit; ++i) {
    if (limit == ~0ull) {
      pipeline input(v.inputs[i], v.captures, tasks.context());
      if (auto whole = input.as_table()) {
        tasks.context().rows_read(whole->n);
        all.emplace_back(std::move(*whole));
        continue;
      }
      part_windows(input).run_rest(input.row(), [](const pipeline::part& part, rows_buffer& out) {
        append_rows_sink sink(out);
        part.run(sink);
      }, all);
    } else {
      row_prefix input(v.inputs[i], v, tasks);
      input.reach(limit - rows());
      for (piece& p : std::move(input).pieces()) all.push_back(std::move(p));
    }
  }
  return slice(side_by_side(std::move(all), v.node->row, tasks), 0, limit);
}

detail::table concat_rows(const planner::vertex& v, const vertex_tasks& tasks) { return rows_of_inputs(v, v.limit, tasks); }

std::optional<runtime::vertex_rows> concat_columns(const planner::vertex& v, const vertex_tasks& tasks) {
  const planner::column_schema schema = v.gives_columns->schema();
  collected_columns all{schema, {}, {}};
  for (const planner::branch& b : v.inputs) {
    auto rows = collect_columns_of(b, v.captures, tasks.context());
    if (!rows) return std::nullopt;
    regroup_columns(*rows, schema);
    all.take(std::move(*rows));
  }
  return runtime::vertex_rows(all.list(v.node->row));
}

namespace {

// f(a, b) of the first n rows of both.
detail::table zipped(const planner::vertex& v, const pair_calls& result, const detail::table& a, const detail::table& b, std::size_t n,
                     const vertex_tasks& tasks) {
  return construct_rows(v.node->row, n, tasks, [&](std::size_t first, std::size_t k, void* out) {
    const void *l[batch_rows], *r[batch_rows];
    pair_calls::scratch scratch;
    new_rows made(v.node->row, out);
    for (std::size_t done = 0; done < k;) {
      const std::size_t m = std::min(batch_rows, k - done);
      for (std::size_t i = 0; i < m; ++i) {
        l[i] = row_at(a, first + done + i);
        r[i] = row_at(b, first + done + i);
      }
      result.map(l, r, m, made.end(), scratch);
      made.grow(m);
      done += m;
    }
    made.release();
  }).to_table();
}

class streamed_zip final : public row_pieces {
 public:
  streamed_zip(const planner::vertex& v, runtime::run_context& context)
      : v_(&v), tasks_(context, v.captures), left_(v.inputs[0], v, tasks_), right_(v.inputs[1], v, tasks_) {}
  bool next(detail::table& out, std::size_t) override {
    if ((!a_.n && !left_.next(a_, ~0ull)) || (!b_.n && !right_.next(b_, ~0ull))) return false;
    if (!result_) result_.emplace(v_->node->functions[0], a_.type, b_.type, v_->interpreted, tasks_.pool());
    const std::size_t n = std::min({a_.n, b_.n, most_piece_rows(v_->node->row->size, tasks_.pool())});
    out = zipped(*v_, *result_, a_, b_, n, tasks_);
    a_ = slice(a_, n, ~0ull);
    b_ = slice(b_, n, ~0ull);
    return true;
  }
  bool prompt() const override { return false; }

 private:
  const planner::vertex* v_;
  vertex_tasks tasks_;
  row_prefix left_, right_;
  std::optional<pair_calls> result_;
  detail::table a_, b_;  // what has been read of each side and not given yet
};

}  // namespace

std::unique_ptr<row_pieces> stream_of_zip(const planner::vertex& v, runtime::run_context& context) {
  return std::make_unique<streamed_zip>(v, context);
}

detail::table zip_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  row_prefix left(v.inputs[0], v, tasks), right(v.inputs[1], v, tasks);
  // One of them may have no end: each is computed only as far as the other reaches.
  while (std::min(left.size(), right.size()) < v.limit) {
    row_prefix& behind = left.size() <= right.size() ? left : right;
    if (behind.ended()) break;
    behind.advance(v.limit - behind.size());
  }
  const std::uint64_t n = std::min({left.size(), right.size(), v.limit});
  const detail::table a = std::move(left).to_table(n), b = std::move(right).to_table(n);
  const pair_calls result(v.node->functions[0], a.type, b.type, v.interpreted, tasks.pool());
  return zipped(v, result, a, b, static_cast<std::size_t>(n), tasks);
}

namespace {

bool is_as_it_is(const planner::branch& b) { return b.stages.empty() && b.prefilters.empty(); }

// Of rows [first, first + n) of two lists the columns that the projection gives.
std::vector<column_list::piece> zipped_pieces(const column_list& left, const column_list& right, std::size_t first, std::size_t n,
                                              const column_projector& result, const planner::column_schema& schema,
                                              const vertex_tasks& tasks) {
  column_projector::runner run(result, tasks.pool());
  piece_sink to(schema, tasks.pool());
  std::vector<column> beside;
  left.each_batch(first, n, column_batch_rows, [&](const column_batch& l) {
    tasks.cancel().check();
    right.each_batch(l.first, l.n, column_batch_rows, [&](const column_batch& r) {
      beside.clear();
      for (const column& c : l.columns) beside.push_back(part_of(c, static_cast<std::size_t>(r.first - l.first)));
      to.push({run.run(beside, r.columns, r.n), r.n, r.first});
    });
  });
  return to.take();
}

std::optional<runtime::vertex_rows> zip_sides(const planner::vertex& v, const vertex_tasks& tasks) {
  runtime::run_context& context = tasks.context();
  // The side that costs nothing first: of the other as many rows.
  const std::size_t first = is_as_it_is(v.inputs[1]) && !is_as_it_is(v.inputs[0]) ? 1 : 0;
  std::optional<collected_columns> sides[2];
  if (!(sides[first] = collect_columns_of(v.inputs[first], v.captures, context, v.limit))) return std::nullopt;
  if (!(sides[1 - first] = collect_columns_of(v.inputs[1 - first], v.captures, context, sides[first]->rows()))) return std::nullopt;
  auto p = planner::project(v.node->functions[0], sides[0]->schema, &sides[1]->schema);
  if (!p) return std::nullopt;
  const auto n = static_cast<std::size_t>(std::min({sides[0]->rows(), sides[1]->rows(), v.limit}));
  std::size_t a_row = 2 * sizeof(std::uint32_t);
  for (const planner::projected_part& part : p->parts) a_row += part.computed ? part.type->size : 0;
  const bool limited = context.pool.limit() != 0;
  if (limited && !fits_in(static_cast<double>(n) * static_cast<double>(a_row), memory_left(context.pool))) return std::nullopt;
  const column_projector result(std::move(*p), v.node);
  const planner::column_schema schema = result.schema();
  const auto left = sides[0]->list(v.inputs[0].row), right = sides[1]->list(v.inputs[1].row);
  std::vector<std::vector<column_list::piece>> parts(chunks_of(n));
  tasks.chunks(n, [&](std::size_t from, std::size_t k) {
    parts[from / part_rows] = zipped_pieces(*left, *right, from, k, result, schema, tasks);
  });
  collected_columns all{schema, {}, {left, right}};
  for (auto& pieces : parts) std::move(pieces.begin(), pieces.end(), std::back_inserter(all.pieces));
  return runtime::vertex_rows(all.list(v.node->row));
}

}  // namespace

std::optional<runtime::vertex_rows> zip_columns(const planner::vertex& v, const vertex_tasks& tasks) {
  // A function may fail for a row that has no partner. Records know: they are made as far as both sides reach.
  try {
    return zip_sides(v, tasks);
  } catch (const user_error&) {
    return std::nullopt;
  } catch (const resource_error&) {
    if (!tasks.pool().limit()) throw;
    return std::nullopt;
  }
}

detail::table default_if_empty(const planner::vertex& v, const vertex_tasks& tasks) {
  detail::table rows = collect_input(v, 0, tasks).table;
  return rows.n ? rows : collect_input(v, 1, tasks).table;
}

}  // namespace query::cpu
