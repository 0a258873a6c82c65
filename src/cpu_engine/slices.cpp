// take, skip, take_last, skip_last, take_while, skip_while.
#include <algorithm>
#include <iterator>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/collected_rows.hpp"
#include "cpu_engine/row_prefix.hpp"
#include "cpu_engine/table_verbs.hpp"

namespace query::cpu {

namespace {

std::uint64_t sum_or_all(std::uint64_t a, std::uint64_t b) { return a + b < a ? ~0ull : a + b; }

// The last `most` rows of a part; others go on the way, whenever there are as many of them, or a few hundred kilobytes.
class last_rows_sink final : public detail::batch_sink {
 public:
  last_rows_sink(rows_buffer& out, std::uint64_t most, runtime::buffer_pool& pool)
      : out_(&out),
        most_(static_cast<std::size_t>(std::min<std::uint64_t>(most, part_rows))),
        others_(std::max(most_, std::clamp<std::size_t>((256 << 10) / out.type()->size, 1, batch_rows))),
        pool_(&pool) {}
  void push(const detail::row_block& b) override {
    detail::row_block last = b;
    last.n = std::min(b.n, most_);
    last.rows = static_cast<std::byte*>(b.rows) + (b.n - last.n) * out_->type()->size;
    if (!last.n) return;
    if (last.n == most_) out_->clear();
    else if (out_->size() + last.n > most_ + others_) keep(most_ - last.n);
    out_->append(last);
  }

 private:
  void keep(std::size_t n) {
    rows_buffer kept(out_->type(), *pool_);
    if (n) kept.take_rows(out_->at(out_->size() - n), n);
    *out_ = std::move(kept);
  }

  rows_buffer* out_;
  std::size_t most_, others_;
  runtime::buffer_pool* pool_;
};

}  // namespace

detail::table take_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::uint64_t n = std::min(v.node->count, v.limit);
  row_prefix rows(v.inputs[0], v, tasks);
  rows.reach(n);
  return std::move(rows).to_table(n);
}

runtime::vertex_rows skip_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::uint64_t n = v.node->count;
  if (auto made = made_as_they_are(v.inputs[0], tasks.context())) return runtime::vertex_rows(range_of(std::move(made), n, v.limit));
  if (auto rows = streamed_into_store(v, tasks.context())) return std::move(*rows);
  if (v.limit == ~0ull) return slice(collect_input(v, 0, tasks).table, n, ~0ull);
  const std::uint64_t all = sum_or_all(n, v.limit);
  row_prefix rows(v.inputs[0], v, tasks);
  rows.reach(all);
  return slice(std::move(rows).to_table(all), n, v.limit);
}

runtime::vertex_rows take_last_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::uint64_t n = v.node->count;
  runtime::run_context& context = tasks.context();
  const auto last_of = [&](const collected_rows& rows) {
    const std::uint64_t first = rows.size() > n ? rows.size() - n : 0;
    return rows.range(first, std::min(n, rows.size()));
  };
  if (auto made = made_as_they_are(v.inputs[0], context)) return last_of({{}, std::move(made)});
  pipeline input(v.inputs[0], v.captures, context, false, true);
  if (const auto whole = input.as_table()) {
    context.rows_read(std::min<std::uint64_t>(whole->n, n));
    return slice(*whole, whole->n > n ? whole->n - n : 0, n);
  }
  // Those that are kept may be as many as memory has no room for; what they own counts as it comes.
  constexpr std::uint64_t few_rows = 1 << 12;
  const std::uint64_t most = std::min(n, input.source_rows().value_or(~0ull));
  if (most > few_rows && may_leave_memory(input.row(), context) &&
      (heap_charge::counts(*input.row(), context.pool) || !has_room_for(most, 3 * input.row()->size, context)))
    return last_of(collect_rest_as_memory_allows(input));
  // Pieces that cannot be among the last rows any more are given back on the way.
  part_windows parts(input);
  std::vector<piece> pieces;
  while (parts.run_next(input.row(), [&](const pipeline::part& part, rows_buffer& out) {
    last_rows_sink sink(out, n, tasks.pool());
    part.run(sink);
  }, pieces)) {
    std::size_t after = rows_in(pieces), superfluous = 0;
    while (superfluous < pieces.size() && after - pieces[superfluous].size() >= n) after -= pieces[superfluous++].size();
    std::vector<piece> kept(std::make_move_iterator(pieces.begin() + static_cast<std::ptrdiff_t>(superfluous)),
                            std::make_move_iterator(pieces.end()));
    pieces = std::move(kept);
  }
  const detail::table rows = side_by_side(std::move(pieces), input.row(), tasks);
  return slice(rows, rows.n > n ? rows.n - n : 0, n);
}

runtime::vertex_rows skip_last_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const collected_rows rows = collect_as_memory_allows(v.inputs[0], v.captures, tasks.context());
  return rows.range(0, rows.size() > v.node->count ? rows.size() - v.node->count : 0);
}

detail::table take_rows_while(const planner::vertex& v, const vertex_tasks& tasks) {
  const function_calls test(v.node->functions[0], v.interpreted, true);
  row_prefix rows(v.inputs[0], v, tasks, &test);
  rows.reach(v.limit);
  return std::move(rows).to_table(v.limit);
}

detail::table skip_rows_while(const planner::vertex& v, const vertex_tasks& tasks) {
  const function_calls test(v.node->functions[0], v.interpreted, true);
  const detail::table rows = collect_input(v, 0, tasks).table;
  return slice(rows, first_failing(rows, test, tasks), ~0ull);
}

}  // namespace query::cpu
