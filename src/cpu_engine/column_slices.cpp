// Rows by their place, over columns: take, skip, take_last, skip_last, take_while, skip_while, reverse and sample select them, and copy
// none.
#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/captured.hpp"
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
    case verb::default_if_empty: return v.limit;
    case verb::skip: return count + v.limit < count ? ~0ull : count + v.limit;
    default: return ~0ull;
  }
}

// The number of rows before the first that fails the test. An error in a row behind that one is not met.
std::uint64_t passing_rows(const detail::user_function& f, const collected_columns& rows, const vertex_tasks& tasks) {
  const planner::interpretation test = *planner::evaluate(f, rows.schema);
  const interpreter::program program(test.expression.root);
  const auto collections = captured_collections(test.captures);
  const auto list = rows.list(nullptr);
  const auto count = static_cast<std::size_t>(rows.rows());
  // Adds up the rows of [start, start + n) before the first that fails, of which so many are tested at once.
  const auto test_rows = [&](std::size_t start, std::size_t n, std::size_t at_once, std::size_t& good) {
    interpreter::scratch scratch;
    bool pass[column_batch_rows];
    bool all = true;
    list->each_batch(start, n, at_once, [&](const column_batch& b) {
      if (!all) return;
      interpreter::binding in;
      in.columns = b.columns;
      program.filter({&in, 1}, {collections, {}}, b.n, pass, scratch);
      const auto k = static_cast<std::size_t>(std::find(pass, pass + b.n, false) - pass);
      good += k;
      all = k == b.n;
    });
  };
  std::size_t window = 1;
  for (std::size_t from = 0; from < count;) {
    const std::size_t chunks = std::min(window, chunks_of(count - from));
    std::vector<std::size_t> good(chunks);
    std::vector<std::exception_ptr> errors(chunks);
    tasks.for_each(chunks, [&](std::size_t c) {
      const std::size_t start = from + c * part_rows, n = std::min(part_rows, count - start);
      try {
        test_rows(start, n, column_batch_rows, good[c]);
      } catch (...) {  // of a row that others tested with it may have ended
        try {
          test_rows(start + good[c], n - good[c], 1, good[c]);
        } catch (...) {
          errors[c] = std::current_exception();
        }
      }
    });
    for (std::size_t c = 0; c < chunks; ++c) {
      const std::size_t start = from + c * part_rows;
      if (errors[c]) std::rethrow_exception(errors[c]);
      if (good[c] < std::min(part_rows, count - start)) return start + good[c];
    }
    from += chunks * part_rows;
    window = std::min<std::size_t>(2 * window, 4 * static_cast<std::size_t>(tasks.scheduler().concurrency()));
  }
  return count;
}

void choose_rows(const planner::vertex& v, collected_columns& rows, const vertex_tasks& tasks) {
  const std::uint64_t n = rows.rows(), count = std::min(v.node->count, n);
  switch (v.node->what) {
    case verb::take: return keep_range(rows, 0, std::min(count, v.limit));
    case verb::skip: return keep_range(rows, count, v.limit);
    case verb::take_last: return keep_range(rows, n - count, v.limit);
    case verb::take_while: return keep_range(rows, 0, std::min(passing_rows(v.node->functions[0], rows, tasks), v.limit));
    case verb::skip_while: return keep_range(rows, passing_rows(v.node->functions[0], rows, tasks), v.limit);
    case verb::skip_last: return keep_range(rows, 0, std::min(n - count, v.limit));
    case verb::default_if_empty: return keep_range(rows, 0, v.limit);
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
  const bool ends_early = v.node->what == verb::take_while && !as_it_is;
  bool collects = true;
  const auto collected = [&](std::uint64_t wanted) {
    collects = true;
    auto rows = collect_columns_of(b, v.captures, tasks.context(), wanted);
    collects = false;
    return rows;
  };
  try {
    auto rows = collected(ends_early ? few_rows : most);
    if (!rows) return std::nullopt;
    const std::uint64_t seen = rows->rows();
    if (!seen && v.node->what == verb::default_if_empty) return std::nullopt;  // a record of its own
    choose_rows(v, *rows, tasks);
    if (ends_early && rows->rows() == seen && seen >= few_rows) {  // it may go on behind these
      rows = collected(most);
      if (!rows) return std::nullopt;
      choose_rows(v, *rows, tasks);
    }
    return runtime::vertex_rows(rows->list(v.node->row));
  } catch (const user_error&) {  // perhaps for a row that is not wanted
    if (!collects || (most == ~0ull && !ends_early)) throw;
  } catch (const resource_error&) {
    if (!limited) throw;
  }
  return std::nullopt;
}

}  // namespace query::cpu
