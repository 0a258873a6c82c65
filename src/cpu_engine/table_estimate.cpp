#include "cpu_engine/table_estimate.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "cpu_engine/files.hpp"
#include "cpu_engine/heap_charge.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/sampled_pieces.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "data/arrow_table.hpp"
#include "runtime/source_rows.hpp"

namespace query::cpu {

using detail::verb;
using planner::branch;
using planner::stage;
using planner::vertex;

bool may_add_rows(const stage& s) {
  if (s.what == stage::kind::probe) return s.join->join != detail::join_kind::semi && s.join->join != detail::join_kind::anti;
  return std::any_of(s.nodes.begin(), s.nodes.end(), [](const detail::logical* n) { return n->what == verb::select_many; });
}

std::optional<std::uint64_t> rows_of_source(const branch& b, const runtime::run_context& context) {
  return comes_in_pieces(b, context) ? std::nullopt : runtime::rows_lying_there(b, context);
}

bool in_place(const branch& b, const runtime::run_context& context) {
  if (!b.stages.empty() || !b.prefilters.empty() || comes_in_pieces(b, context)) return false;
  if (const runtime::vertex_rows* rows = context.rows_before(b)) return rows->here();
  if (b.table || !b.source->view) return false;
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  return !rows.columns;
}

// ---------------------------------------------------------------- what rows own
namespace {

constexpr std::size_t sampled_runs = 16, run_of_sample = 4;
constexpr std::size_t looked_at = 1 << 10;  // bytes a row: where so many would be no trouble, nobody looks

class heap_of_rows final : public detail::batch_sink {
 public:
  explicit heap_of_rows(const ir::type* row) : row_(row) {}
  void push(const detail::row_block& b) override {
    rows_ += b.n;
    bytes_ += heap_bytes(*row_, b.rows, b.n);
  }
  std::size_t a_row() const { return rows_ ? (bytes_ + rows_ - 1) / rows_ : 0; }

 private:
  const ir::type* row_;
  std::size_t rows_ = 0, bytes_ = 0;
};

// Calls f(first, n) for some runs all over `rows` rows.
template <class F> void each_sampled(std::uint64_t rows, F f) {
  const std::uint64_t runs = std::clamp<std::uint64_t>(rows / run_of_sample, 1, sampled_runs), step = rows / runs;
  std::uint64_t x = rows;
  for (std::uint64_t i = 0; i < runs; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t n = std::min<std::uint64_t>(run_of_sample, step);
    f(static_cast<std::size_t>(i * step + (x >> 33) % (step - n + 1)), static_cast<std::size_t>(n));
  }
}

// The same of rows that lie in memory, of a branch that leaves them as they are; 0: they do not.
std::size_t heap_as_it_is(const branch& b, const runtime::run_context& context) {
  const std::uint64_t rows = rows_of_source(b, context).value_or(0);
  const bool as_it_is = b.prefilters.empty() && std::all_of(b.stages.begin(), b.stages.end(), [](const stage& x) {
    return x.what == stage::kind::rowwise && x.nodes.empty();  // which makes records of columns
  });
  if (!rows || !as_it_is || !heap_charge::counts(*b.row, context.pool)) return 0;
  detail::row_block whole;
  if (const runtime::vertex_rows* known = context.rows_before(b)) {
    if (!known->here()) return 0;
    whole.rows = const_cast<void*>(known->rows.rows);
  } else if (b.table || !b.source->view) {
    return 0;
  } else {
    b.source->view(b.source->source.get(), whole);
  }
  const data::arrow_table* const arrow = b.source && !b.table ? data::arrow_table::of(*b.source) : nullptr;
  std::size_t bytes = 0, seen = 0;
  each_sampled(rows, [&](std::size_t first, std::size_t n) {
    seen += n;
    if (!whole.columns) bytes += heap_bytes(*b.row, static_cast<const std::byte*>(whole.rows) + first * b.row->size, n);
    for (std::size_t f = 0; whole.columns && f < b.row->field_list.size(); ++f) {
      if (!b.wanted.empty() && !b.wanted[f]) continue;  // a column that nobody reads may not be in this process
      const ir::type& t = *b.row->field_list[f].of;
      if (const data::text_codes* const codes = arrow ? arrow->codes_of(f) : nullptr) {
        const std::uint32_t* const code = codes->codes + arrow->row_at(f, whole.columns[f]) + first;
        for (std::size_t i = 0; i < n; ++i) bytes += heap_bytes(t, static_cast<const std::byte*>(codes->entries) + code[i] * t.size, 1);
        continue;
      }
      bytes += heap_bytes(t, static_cast<const std::byte*>(whole.columns[f]) + first * t.size, n);
    }
  });
  return (bytes + seen - 1) / seen;
}

bool may_own_much(const pipeline& p) {
  const std::uint64_t rows = p.source_rows().value_or(p.most_rows_a_part());
  if (!rows || !heap_charge::counts(*p.row(), p.context().pool)) return false;
  const double guess = static_cast<double>(rows) * static_cast<double>(p.row()->size + looked_at);
  return 4 * guess > static_cast<double>(memory_left(p.context().pool));
}

}  // namespace

void shorten_parts_of_large_rows(pipeline& p) {
  constexpr std::size_t few_rows = 1 << 10;
  if (!p.context().shared && may_own_much(p)) p.shorten_parts(0, few_rows);
}

std::size_t row_heap_bytes(pipeline& p) {
  runtime::run_context& context = p.context();
  const std::uint64_t rows = p.source_rows().value_or(0);
  if (!rows || p.made_as_read() || context.shared || !may_own_much(p)) return 0;
  heap_of_rows sample(p.row());
  each_sampled(rows, [&](std::size_t first, std::size_t n) {
    context.cancel.check();
    try {
      p.run_rows(first, n, [&](const pipeline::part& part) { part.run(sample); });
    } catch (const cancelled&) {
      throw;
    } catch (const resource_error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {  // of a user's function: the run throws it again, at its first row
    }
  });
  return sample.a_row();
}

std::size_t row_heap_bytes(const branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context) {
  if (!b.row || !heap_charge::counts(*b.row, context.pool) || comes_in_pieces(b, context)) return 0;
  if (std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.what == stage::kind::probe; })) return 0;
  const runtime::vertex_rows* const known = context.rows_before(b);
  if (known ? !known->here() : b.table != nullptr) return 0;
  pipeline p(b, captures, context);
  return row_heap_bytes(p);
}

namespace {

using row_count = std::optional<std::uint64_t>;  // at most so many; nothing: nobody knows

std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return a + b < a ? ~0ull : a + b; }
std::uint64_t product(std::uint64_t a, std::uint64_t b) { return b && a > ~0ull / b ? ~0ull : a * b; }
// Tables are put together of pieces. One that is not leaves as much to its reader.
std::uint64_t twice(std::uint64_t bytes) { return product(2, bytes); }

class row_counts {
 public:
  explicit row_counts(const runtime::run_context& context) : context_(&context) {}

  row_count of(const branch& b) {
    if (std::any_of(b.stages.begin(), b.stages.end(), may_add_rows)) return std::nullopt;
    if (b.table && context_->streams(*b.table)) return of(*b.table);
    if (!b.table && b.source->open) return b.source->count ? row_count(b.source->count) : std::nullopt;
    return rows_of_source(b, *context_);
  }

  row_count of(const vertex& v) {
    if (deep_ == deepest) return std::nullopt;
    ++deep_;
    row_count n = without_limit(v);
    --deep_;
    if (n) n = std::min(*n, v.limit);
    return n;
  }

 private:
  static constexpr int deepest = 64;  // streams that call each other: those of sources without an end may be thousands

  row_count without_limit(const vertex& v) {
    if (v.inputs.empty()) return std::nullopt;  // a file
    const row_count n = of(v.inputs.front());
    if (!v.node) return n;
    const std::uint64_t count = v.node->count;
    switch (v.node->what) {
      case verb::take: return std::min(count, n.value_or(count));
      case verb::zip: {
        const row_count other = of(v.inputs[1]);
        return n && other ? std::min(*n, *other) : n ? n : other;
      }
      case verb::skip: return n ? row_count(*n - std::min(*n, count)) : n;
      case verb::take_while:
      case verb::skip_while:
      case verb::distinct: return n;
      case verb::chunk:
      case verb::window: return n && count && v.node->step ? row_count(of_runs(*v.node, *n)) : std::nullopt;
      case verb::default_if_empty: return of_all(v, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
      case verb::cross_join: return of_all(v, product);
      case verb::concat:
      case verb::union_with: return of_all(v, sum);
      default: return std::nullopt;
    }
  }
  // Nobody knows of functions that give many rows; perhaps as many as their run has.
  static std::uint64_t of_runs(const detail::logical& node, std::uint64_t n) {
    const std::uint64_t length = node.count, rows_a_run = gives_one_row(node) ? 1 : length;
    if (node.what == verb::chunk) return product(n / length + (n % length != 0), std::min(rows_a_run, n));
    return n < length ? 0 : product((n - length) / node.step + 1, rows_a_run);
  }
  template <class Combine> row_count of_all(const vertex& v, Combine combine) {
    row_count all = of(v.inputs.front());
    for (std::size_t i = 1; all && i < v.inputs.size(); ++i) {
      const row_count n = of(v.inputs[i]);
      all = n ? row_count(combine(*all, *n)) : n;
    }
    return all;
  }

  const runtime::run_context* context_;
  int deep_ = 0;
};

}  // namespace

std::optional<std::uint64_t> most_table_bytes(const planner::vertex& v, const runtime::run_context& context) {
  if (v.node && v.node->what == verb::source_file) return most_table_bytes_of_file(v, context);
  row_counts counts(context);
  const row_count n = counts.of(v);
  if (!n) return std::nullopt;
  // Rows of the inputs, as far as nothing has happened to them; others own something that nobody knows.
  std::uint64_t heap = 0;
  for (const branch& b : v.inputs)
    if (b.row == v.row()) heap = std::max<std::uint64_t>(heap, heap_as_it_is(b, context));
  const std::uint64_t table = sum(twice(product(*n, v.row()->size)), product(*n, heap));
  // Bytes of a copy of an input's first `most` rows.
  const auto copy = [&](const branch& b, std::uint64_t most) {
    if (in_place(b, context)) return std::uint64_t{0};
    return product(std::min(counts.of(b).value_or(~0ull), most), b.row->size + heap_as_it_is(b, context));
  };
  const branch& first = v.inputs.front();
  const auto as_it_is = [&] { return in_place(first, context) || made_as_they_are(first, context); };
  if (!v.node) return as_it_is() ? 0 : table;
  switch (v.node->what) {
    case verb::take: return as_it_is() ? 0 : table;
    case verb::skip: return as_it_is() ? 0 : twice(copy(first, sum(v.node->count, v.limit)));
    case verb::take_while:
    case verb::skip_while: return twice(copy(first, ~0ull));
    case verb::default_if_empty: return twice(std::max(copy(first, ~0ull), copy(v.inputs[1], ~0ull)));
    case verb::zip: return sum(table, sum(copy(first, *n), copy(v.inputs[1], *n)));
    case verb::chunk:
    case verb::window: return sum(table, copy(first, ~0ull));
    case verb::cross_join: return sum(table, sum(copy(first, ~0ull), copy(v.inputs[1], ~0ull)));
    default: return table;
  }
}

}  // namespace query::cpu
