// Joins that are vertices of their own: right, full, group_join, cross_join (join_where: join_where.cpp).
#include <cstring>
#include <iterator>

#include <query/cpu/segment_form.hpp>
#include <query/detail/failure.hpp>

#include <query/detail/stop.hpp>

#include "cpu_engine/collected_columns.hpp"
#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/join.hpp"
#include "cpu_engine/join_where.hpp"
#include "cpu_engine/large_join.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/right_side.hpp"
#include "cpu_engine/row_lists.hpp"
#include "cpu_engine/vertex_streams.hpp"
#include "ir/analysis.hpp"
#include "planner/join_condition.hpp"

namespace query::cpu {

namespace {

// Matches in one go, and their bytes; a batch with more is cut, down to a single left row.
constexpr std::uint64_t most_matches = 1 << 16, most_match_bytes = std::uint64_t{16} << 20;

class group_join_sink final : public detail::batch_sink {
 public:
  group_join_sink(const detail::logical& join, const keyed_rows& build, const function_calls& key, const pair_calls& result,
                  rows_buffer& to, runtime::buffer_pool& pool)
      : join_(&join),
        build_(&build),
        key_(&key),
        most_matches_(std::clamp<std::uint64_t>(most_match_bytes / join.functions[1].row->size, 1, most_matches)),
        keys_(join.functions[0].result, pool),
        lists_(static_cast<const ir::type*>(join.source.get()), batch_rows, pool),
        result_(&result),
        to_(&to) {}

  void push(const detail::row_block& b) override {
    const std::size_t size = join_->functions[0].row->size;
    for (std::size_t from = 0; from < b.n; from += batch_rows)
      join_batch(static_cast<const std::byte*>(b.rows) + from * size, std::min(batch_rows, b.n - from));
  }

 private:
  void join_batch(const std::byte* rows, std::size_t n) {
    keys_.clear();
    key_->map(rows, nullptr, n, keys_.extend(n), scratch_);
    keys_.grow(n);
    build_->table().count(keys_.data(), n, counts_);
    for (std::size_t i = 0; i < n;) {
      std::uint64_t matches = counts_[i];
      std::size_t j = i + 1;
      while (j < n && matches + counts_[j] <= most_matches_) matches += counts_[j++];
      join_run(rows, i, j);
      i = j;
    }
  }
  void join_run(const std::byte* rows, std::size_t first, std::size_t last) {
    const std::size_t n = last - first, size = join_->functions[0].row->size;
    for (std::size_t i = 0; i < n; ++i) lists_.start(i, static_cast<std::size_t>(counts_[first + i]));
    cursor_.reset();
    while (build_->table().probe(keys_.at(first), n, cursor_, matches_))
      for (std::size_t m = 0; m < matches_.size(); ++m) lists_.add(matches_.probe()[m], build_->row(matches_.build()[m]));
    for (std::size_t i = 0; i < n; ++i) {
      left_[i] = rows + (first + i) * size;
      right_[i] = lists_.list(i);
    }
    detail::in_runs(0, n, [&](std::size_t i, std::size_t j) {
      result_->map(left_ + i, right_ + i, j - i, to_->extend(j - i), pair_scratch_);
      to_->grow(j - i);
    });
  }

  const detail::logical* join_;
  const keyed_rows* build_;
  const function_calls* key_;
  std::uint64_t most_matches_;
  rows_buffer keys_;
  row_lists lists_;
  const pair_calls* result_;
  interpreter::scratch scratch_;
  pair_calls::scratch pair_scratch_;
  join_table::cursor cursor_;
  match_batch matches_;
  std::uint64_t counts_[batch_rows];
  const void* left_[batch_rows];
  const void* right_[batch_rows];
  rows_buffer* to_;
};

}  // namespace

runtime::vertex_rows group_join_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const detail::logical& join = *v.node;
  const auto* list = static_cast<const ir::type*>(join.source.get());
  if (!ir::can_be_filled(list))
    throw detail::unplaced_error("rows of the right side must be default constructible and assignable: " +
                                 std::string(list->element->name));
  return join_as_memory_allows(v, tasks.context(), [&](const detail::table& rows) {
    const keyed_rows build(join.functions[1], join.keys, v.interpreted, false, rows, tasks);
    const function_calls key(join.functions[0], v.interpreted, false);
    const pair_calls result(join.functions[2], join.functions[0].row, list, v.interpreted, tasks.pool());
    pipeline left(v.inputs[0], v.captures, tasks.context(), false, true);
    std::vector<piece> pieces;
    part_windows(left).run_rest(join.row, [&](const pipeline::part& part, rows_buffer& out) {
      group_join_sink sink(join, build, key, result, out, tasks.pool());
      part.run(sink);
    }, pieces);
    return side_by_side(std::move(pieces), join.row, tasks);
  });
}

namespace {

// k pairs from number `from` on, in the order of the left rows and, for each of them, of the right ones.
detail::table pairs(const detail::logical& join, const pair_calls& result, const detail::table& left, const detail::table& right,
                    std::size_t from, std::size_t k, const vertex_tasks& tasks) {
  return construct_rows(join.row, k, tasks, [&](std::size_t first, std::size_t n, void* out) {
    const void *l[batch_rows], *r[batch_rows];
    pair_calls::scratch scratch;
    new_rows made(join.row, out);
    std::size_t i = (from + first) / right.n, j = (from + first) % right.n;
    for (std::size_t done = 0; done < n;) {
      const std::size_t m = std::min(batch_rows, n - done);
      for (std::size_t p = 0; p < m; ++p) {
        l[p] = row_at(left, i);
        r[p] = row_at(right, j);
        if (++j == right.n) {
          j = 0;
          ++i;
        }
      }
      result.map(l, r, m, made.end(), scratch);
      made.grow(m);
      done += m;
    }
    made.release();
  }).to_table();
}

// The right rows are all there; the left ones, and the pairs, come a piece at a time.
class streamed_pairs final : public row_pieces {
 public:
  streamed_pairs(const planner::vertex& v, runtime::run_context& context)
      : v_(&v), tasks_(context, v.captures), left_(v.inputs[0], v, tasks_), size_(rows_a_batch(v.node->row->size)) {}

  bool next(detail::table& out, std::size_t) override {
    if (!right_) right_ = with_right_side(*v_->node, [&] { return collect_input(*v_, 1, tasks_).table; });
    if (!right_->n) return false;
    if (!now_.n || next_ == now_.n * right_->n) {
      if (!left_.next(now_, ~0ull)) return false;
      (void)runtime::buffer_pool::checked_bytes(now_.n, right_->n);
      next_ = 0;
    }
    if (!result_) result_.emplace(v_->node->functions[0], now_.type, right_->type, v_->interpreted, tasks_.pool());
    const std::size_t n = std::min(size_, now_.n * right_->n - next_);
    out = pairs(*v_->node, *result_, now_, *right_, next_, n, tasks_);
    next_ += n;
    // Sizes that do not depend on the number of threads: sums are added up piece by piece.
    constexpr std::size_t most_bytes = std::size_t{16} << 20;
    size_ = std::min(8 * size_, std::clamp<std::size_t>(most_bytes / v_->node->row->size, 1, 16 * part_rows));
    size_ = std::min(size_, most_piece_rows(v_->node->row->size, tasks_.pool()));
    return true;
  }
  bool prompt() const override { return false; }

 private:
  const planner::vertex* v_;
  vertex_tasks tasks_;
  row_prefix left_;
  std::optional<detail::table> right_;
  std::optional<pair_calls> result_;
  detail::table now_;      // of the left rows
  std::size_t next_ = 0;   // of their pairs
  std::size_t size_;       // of the next piece
};

}  // namespace

detail::table cross_join_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const detail::logical& join = *v.node;
  if (planner::has_condition(join)) return join_where_rows(v, tasks);
  const detail::table left = collect_input(v, 0, tasks).table;
  const detail::table right = with_right_side(join, [&] { return collect_input(v, 1, tasks).table; });
  const pair_calls result(join.functions[0], left.type, right.type, v.interpreted, tasks.pool());
  std::size_t total = runtime::buffer_pool::checked_bytes(left.n, right.n);
  if (v.limit < total) total = static_cast<std::size_t>(v.limit);
  return pairs(join, result, left, right, 0, total, tasks);
}
std::unique_ptr<row_pieces> stream_of_pairs(const planner::vertex& v, runtime::run_context& context) {
  if (planner::has_condition(*v.node)) return stream_of_join_where(v, context);
  return std::make_unique<streamed_pairs>(v, context);
}

namespace {

// A right or full join whose left rows come as columns: it gives columns of both sides.
runtime::vertex_rows join_columns(const planner::vertex& v, const detail::table& right, const vertex_tasks& tasks) {
  pipeline left(v.inputs[0], v.captures, tasks.context(), true);
  planner::column_schema schema = *left.columns();
  const std::shared_ptr<const column_join> join = make_column_join(v, right, schema, tasks);
  collected_columns all{schema, {}, left.sources()};
  all.sources.push_back(join);
  const auto add = [&](std::vector<std::vector<column_list::piece>>& parts) {
    for (auto& pieces : parts) std::move(pieces.begin(), pieces.end(), std::back_inserter(all.pieces));
  };
  const std::size_t window = left.parts().value_or(static_cast<std::size_t>(tasks.scheduler().concurrency()) * 4);
  for (bool more = true; more;) {
    const std::size_t before = left.next_part();
    std::vector<std::vector<column_list::piece>> parts(window);
    more = left.run_some(window, [&](const pipeline::part& part) {
      piece_sink sink(schema, tasks.pool());
      part.run_columns(*join->start(sink));
      parts[part.index - before] = sink.take();
    });
    add(parts);
  }
  const std::size_t n = join->build_rows();
  std::vector<std::vector<column_list::piece>> alone(chunks_of(n));
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    piece_sink sink(schema, tasks.pool());
    join->unmatched(first, k, sink);
    alone[first / part_rows] = sink.take();
  });
  add(alone);
  return runtime::vertex_rows(all.list(v.node->row));
}

}  // namespace

runtime::vertex_rows join_rows(const planner::vertex& v, runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  if (v.node->what == detail::verb::group_join) return group_join_rows(v, tasks);
  if (v.node->what == detail::verb::cross_join) return cross_join_rows(v, tasks);
  return join_as_memory_allows(v, context, [&](const detail::table& build) -> runtime::vertex_rows {
    if (v.over_columns) return join_columns(v, build, tasks);
    const join_probe probe(*v.node, build, false, v.interpreted, tasks);
    pipeline left(v.inputs[0], v.captures, context, false, true);
    std::vector<piece> pieces;
    part_windows(left).run_rest(v.node->row, [&](const pipeline::part& part, rows_buffer& out) {
      append_rows_sink sink(out);
      const auto runner = probe.start(sink);
      part.run(*runner);
    }, pieces);
    if (v.node->join == detail::join_kind::right || v.node->join == detail::join_kind::full) pieces.emplace_back(probe.unmatched(tasks));
    return side_by_side(std::move(pieces), v.node->row, tasks);
  });
}

}  // namespace query::cpu
