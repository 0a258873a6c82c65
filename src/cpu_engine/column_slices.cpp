// Rows by their place, over columns: take, skip, take_last, skip_last, reverse and sample select them, and copy none.
#include <algorithm>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/collected_columns.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "runtime/drawn_rows.hpp"

namespace query::cpu {

using detail::verb;

namespace {

// The record way computes fewer rows than a part where that is all that is wanted.
constexpr std::uint64_t few_rows = part_rows;

void keep_range(collected_columns& rows, std::uint64_t first, std::uint64_t n) {
  std::vector<column_list::piece> all;
  for (const column_list::piece& p : rows.pieces) {
    const auto out = static_cast<std::size_t>(std::min<std::uint64_t>(first, p.n));
    const auto k = static_cast<std::size_t>(std::min<std::uint64_t>(n, p.n - out));
    first -= out;
    n -= k;
    if (k) all.push_back(part_of(p, out, k));
  }
  rows.pieces = std::move(all);
}

std::uint64_t wanted_rows(const planner::vertex& v) {
  const std::uint64_t count = v.node->count;
  switch (v.node->what) {
    case verb::take: return std::min(count, v.limit);
    case verb::skip: return count + v.limit < count ? ~0ull : count + v.limit;
    default: return ~0ull;
  }
}

void choose_rows(const planner::vertex& v, collected_columns& rows, const vertex_tasks& tasks) {
  const std::uint64_t n = rows.rows(), count = std::min(v.node->count, n);
  switch (v.node->what) {
    case verb::take: return keep_range(rows, 0, std::min(count, v.limit));
    case verb::skip: return keep_range(rows, count, v.limit);
    case verb::take_last: return keep_range(rows, n - count, v.limit);
    case verb::skip_last: return keep_range(rows, 0, std::min(n - count, v.limit));
    case verb::reverse:
      if (v.limit < n) keep_range(rows, n - v.limit, v.limit);
      return reverse_rows(rows, tasks);
    default: break;
  }
  if (v.node->count >= n) return keep_range(rows, 0, v.limit);
  permutation drawn(static_cast<std::size_t>(count), static_cast<std::size_t>(n), tasks.pool());
  std::size_t k = 0;
  runtime::draw_rows(static_cast<std::size_t>(n), static_cast<std::size_t>(count), v.node->seed,
                     [&](std::uint64_t row) { drawn.set(k++, static_cast<std::size_t>(row)); }, [&] { tasks.cancel().check(); });
  select_rows(rows, drawn, tasks);
  keep_range(rows, 0, v.limit);
}

}  // namespace

std::optional<runtime::vertex_rows> columns_by_place(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::uint64_t most = wanted_rows(v);
  const planner::branch& b = v.inputs[0];
  const bool as_it_is = b.stages.empty() && b.prefilters.empty();
  if (most < few_rows && !as_it_is) return std::nullopt;
  const bool limited = tasks.pool().limit() != 0;
  try {
    auto rows = collect_columns_of(b, v.captures, tasks.context(), most);
    if (!rows) return std::nullopt;
    choose_rows(v, *rows, tasks);
    return runtime::vertex_rows(rows->list(v.node->row));
  } catch (const user_error&) {  // perhaps for a row that is not wanted
    if (most == ~0ull) throw;
  } catch (const resource_error&) {
    if (!limited) throw;
  }
  return std::nullopt;
}

}  // namespace query::cpu
