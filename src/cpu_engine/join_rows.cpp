// Joins that are vertices of their own: right, full, group_join, cross_join.
#include <cstring>

#include <query/cpu/typed_segment.hpp>
#include <query/detail/failure.hpp>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/join.hpp"
#include "cpu_engine/pieces.hpp"

namespace query::cpu {

namespace {

// std::vector<R>s of the rows that match a batch of left rows. They keep their memory from batch to batch.
class match_lists {
 public:
  match_lists(const ir::type* list, runtime::buffer_pool& pool) : list_(list), lists_(list, pool) {
    const ir::type* row = list->element;
    if (!list->get.resize || (!row->trivial && !row->life.copy_assign))
      throw detail::unplaced_error("rows of the right side must be default constructible and assignable: " + std::string(row->name));
    void* at = lists_.extend(batch_rows);
    list->life.construct(at, batch_rows);
    lists_.grow(batch_rows);
  }
  const void* list(std::size_t i) const { return lists_.at(i); }
  void start(std::size_t i, std::size_t rows) { ends_[i] = static_cast<std::byte*>(list_->get.resize(lists_.at(i), rows)); }
  void add(std::size_t i, const void* row) {
    const ir::type* t = list_->element;
    if (t->trivial) std::memcpy(ends_[i], row, t->size);
    else t->life.copy_assign(ends_[i], row);
    ends_[i] += t->size;
  }

 private:
  const ir::type* list_;
  rows_buffer lists_;
  std::byte* ends_[batch_rows];
};

// Matches in one go; a batch with more is cut, down to a single left row.
constexpr std::uint64_t most_matches = 1 << 16;

class group_join_sink final : public detail::batch_sink {
 public:
  group_join_sink(const detail::logical& join, const hashed_rows& build, const function_calls& key, rows_buffer& to, runtime::buffer_pool& pool)
      : join_(&join), build_(&build), key_(&key), keys_(join.functions[0].result, pool),
        lists_(static_cast<const ir::type*>(join.source.get()), pool), to_(&to) {}

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
      while (j < n && matches + counts_[j] <= most_matches) matches += counts_[j++];
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
    const detail::user_function& f = join_->functions[2];
    f.native.map_pairs(f.f.get(), left_, right_, n, to_->extend(n));
    to_->grow(n);
  }

  const detail::logical* join_;
  const hashed_rows* build_;
  const function_calls* key_;
  rows_buffer keys_;
  match_lists lists_;
  interpreter::scratch scratch_;
  join_table::cursor cursor_;
  match_batch matches_;
  std::uint64_t counts_[batch_rows];
  const void* left_[batch_rows];
  const void* right_[batch_rows];
  rows_buffer* to_;
};

}  // namespace

detail::table group_join_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const detail::logical& join = *v.node;
  const hashed_rows build(join.functions[1], join.keys, v.interpreted, false, collect_input(v, 1, tasks).table, tasks);
  const function_calls key(join.functions[0], v.interpreted, false);
  pipeline left(v.inputs[0], v.captures, tasks.context());
  std::vector<piece> pieces;
  part_windows(left).run_rest(join.row, [&](const pipeline::part& part, rows_buffer& out) {
    group_join_sink sink(join, build, key, out, tasks.pool());
    part.run(sink);
  }, pieces);
  return side_by_side(std::move(pieces), join.row, tasks);
}

detail::table cross_join_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const detail::logical& join = *v.node;
  const detail::table left = collect_input(v, 0, tasks).table;
  const detail::table right = collect_input(v, 1, tasks).table;
  const pair_calls result(join.functions[0], left.type, right.type, v.interpreted, tasks.pool());
  std::size_t total = runtime::buffer_pool::checked_bytes(left.n, right.n);
  if (v.limit < total) total = static_cast<std::size_t>(v.limit);
  return construct_rows(join.row, total, tasks, [&](std::size_t first, std::size_t k, void* out) {
    const void *l[batch_rows], *r[batch_rows];
    pair_calls::scratch scratch;
    new_rows made(join.row, out);
    std::size_t i = first / right.n, j = first % right.n;
    for (std::size_t done = 0; done < k;) {
      const std::size_t n = std::min(batch_rows, k - done);
      for (std::size_t p = 0; p < n; ++p) {
        l[p] = row_at(left, i);
        r[p] = row_at(right, j);
        if (++j == right.n) {
          j = 0;
          ++i;
        }
      }
      result.map(l, r, n, made.end(), scratch);
      made.grow(n);
      done += n;
    }
    made.release();
  }).to_table();
}

detail::table join_rows(const planner::vertex& v, runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  if (v.node->what == detail::verb::group_join) return group_join_rows(v, tasks);
  if (v.node->what == detail::verb::cross_join) return cross_join_rows(v, tasks);
  const join_probe probe(*v.node, collect_input(v, 1, tasks).table, false, v.interpreted, tasks);
  pipeline left(v.inputs[0], v.captures, context);
  std::vector<piece> pieces;
  part_windows(left).run_rest(v.node->row, [&](const pipeline::part& part, rows_buffer& out) {
    append_rows_sink sink(out);
    const auto runner = probe.start(sink);
    part.run(*runner);
  }, pieces);
  if (v.node->join == detail::join_kind::right || v.node->join == detail::join_kind::full) pieces.emplace_back(probe.unmatched(tasks));
  return side_by_side(std::move(pieces), v.node->row, tasks);
}

}  // namespace query::cpu
