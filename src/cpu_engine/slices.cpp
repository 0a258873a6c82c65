// take, skip, take_last, skip_last, take_while, skip_while.
#include <iterator>

#include "cpu_engine/row_prefix.hpp"
#include "cpu_engine/table_verbs.hpp"

namespace query::cpu {

namespace {

std::uint64_t sum_or_all(std::uint64_t a, std::uint64_t b) { return a + b < a ? ~0ull : a + b; }

}  // namespace

detail::table take_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::uint64_t n = std::min(v.node->count, v.limit);
  row_prefix rows(v.inputs[0], v, tasks);
  rows.reach(n);
  return std::move(rows).to_table(n);
}

detail::table skip_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::uint64_t n = v.node->count;
  if (v.limit == ~0ull) return slice(collect_input(v, 0, tasks).table, n, ~0ull);
  const std::uint64_t all = sum_or_all(n, v.limit);
  row_prefix rows(v.inputs[0], v, tasks);
  rows.reach(all);
  return slice(std::move(rows).to_table(all), n, v.limit);
}

detail::table take_last_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::uint64_t n = v.node->count;
  pipeline input(v.inputs[0], v.captures, tasks.context());
  if (const auto whole = input.as_table()) {
    tasks.context().rows_read(std::min<std::uint64_t>(whole->n, n));
    return slice(*whole, whole->n > n ? whole->n - n : 0, n);
  }
  // Pieces that cannot be among the last rows any more are given back on the way.
  part_windows parts(input);
  std::vector<piece> pieces;
  while (parts.run_next(input.row(), [](const pipeline::part& part, rows_buffer& out) {
    append_rows_sink sink(out);
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

detail::table skip_last_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const detail::table rows = collect_input(v, 0, tasks).table;
  return slice(rows, 0, rows.n > v.node->count ? rows.n - v.node->count : 0);
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
