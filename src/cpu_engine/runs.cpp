// chunk, window and apply: functions of runs of adjacent rows.
#include <optional>
#include <utility>

#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/row_lists.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "cpu_engine/vertex_streams.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

using runtime::bounds_of;
using runtime::with_bounds;

namespace {

// Rows [first, first + n) of the input.
struct run {
  std::size_t first = 0, n = 0;
};

// The function of chunk and window from its expression, over a list of the run's rows.
class interpreted_run {
 public:
  interpreted_run(const function_calls& function, const ir::type* list, runtime::buffer_pool& pool)
      : function_(&function), lists_(list, 1, pool) {}
  void call(const detail::table& rows, const run& r, rows_buffer& out) {
    lists_.start(0, r.n);
    for (std::size_t i = 0; i < r.n; ++i) lists_.add(0, row_at(rows, r.first + i));
    function_->map(lists_.list(0), nullptr, 1, out.extend(1), scratch_);
    out.grow(1);
  }

 private:
  const function_calls* function_;
  row_lists lists_;
  interpreter::scratch scratch_;
};

// Calls the vertex's function for each of `count` runs: `a_task` of them one after the other, tasks side by side. Runs of one length, at
// one distance, share a call.
detail::table call_runs(const planner::vertex& v, const detail::table& rows, std::size_t count, std::size_t a_task,
                        const vertex_tasks& tasks, function_ref<run(std::size_t)> at) {
  const detail::logical& node = *v.node;
  const detail::user_function& f = node.functions[0];
  const function_calls function(f, v.interpreted, false);
  const std::size_t n = (count + a_task - 1) / a_task;
  std::vector<rows_buffer> results;
  results.reserve(n);
  for (std::size_t i = 0; i < n; ++i) results.emplace_back(node.row, tasks.pool());
  tasks.for_each(n, [&](std::size_t t) {
    append_rows_sink sink(results[t]);
    std::optional<interpreted_run> interpreted;
    if (function.is_interpreted()) interpreted.emplace(function, f.row, tasks.pool());
    const detail::stop_point stop;
    const std::size_t first = t * a_task, end = std::min(count, first + a_task);
    if (gives_one_row(node)) results[t].reserve(end - first);  // a buffer that grows begins with a batch: far too much for a long run
    for (std::size_t i = first; i < end;) {
      const run r = at(i);
      if (interpreted) {
        interpreted->call(rows, r, results[t]);
        ++i;
      } else {
        detail::row_runs alike{r.n, 0, 1};
        if (i + 1 < end) alike.step = at(i + 1).first - r.first;
        while (i + alike.count < end) {
          const run next = at(i + alike.count);
          if (next.n != r.n || next.first != r.first + alike.count * alike.step) break;
          ++alike.count;
        }
        node.rows_call(f.f.get(), row_at(rows, r.first), alike, sink);
        i += alike.count;
      }
      stop.check();
    }
  });
  std::vector<piece> pieces;
  for (rows_buffer& r : results) pieces.emplace_back(std::move(r));
  return side_by_side(std::move(pieces), node.row, tasks);
}

// So many runs of this length that a task has as many rows as a part.
std::size_t runs_a_task(std::uint64_t length) {
  return std::max<std::size_t>(1, part_rows / static_cast<std::size_t>(std::min<std::uint64_t>(length, part_rows)));
}

void check_positive(std::uint64_t n, const detail::logical& node, const char* what) {
  if (n == 0)
    detail::fail(name_of(node.what), std::string(what) + " must be positive", node.where);
}

}  // namespace

bool gives_one_row(const detail::logical& runs) {
  return runs.what != detail::verb::apply && (runs.all || runs.functions.front().row);
}

detail::table chunk_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  check_positive(v.node->count, *v.node, "the length");
  const detail::table rows = collect_input(v, 0, tasks).table;
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(v.node->count, std::max<std::size_t>(rows.n, 1)));
  return call_runs(v, rows, (rows.n + length - 1) / length, runs_a_task(length), tasks,
                   [&](std::size_t i) { return run{i * length, std::min(length, rows.n - i * length)}; });
}

detail::table window_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  check_positive(v.node->count, *v.node, "the length");
  check_positive(v.node->step, *v.node, "the step");
  const detail::table rows = collect_input(v, 0, tasks).table;
  const std::uint64_t length = v.node->count;
  if (rows.n < length) return rows_buffer(v.node->row, tasks.pool()).to_table();
  const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(v.node->step, rows.n));
  return call_runs(v, rows, (rows.n - static_cast<std::size_t>(length)) / step + 1, runs_a_task(length), tasks,
                   [&](std::size_t i) { return run{i * step, static_cast<std::size_t>(length)}; });
}

namespace {

// Runs of a stream: `length` rows each, `step` apart; a chunk's last one may be shorter.
class streamed_runs final : public row_pieces {
 public:
  streamed_runs(const planner::vertex& v, runtime::run_context& context)
      : v_(&v), input_(v, context), held_(row_of(v), context.pool), length_(v.node->count),
        step_(v.node->what == detail::verb::chunk ? v.node->count : v.node->step),
        most_runs_(runs_of_piece(*v.node, context.pool)), short_end_(v.node->what == detail::verb::chunk) {}

  bool next(detail::table& out, std::size_t) override {
    while (true) {
      if (rows_.n >= length_) {
        const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(step_, rows_.n));
        out = call(std::min((rows_.n - static_cast<std::size_t>(length_)) / step + 1, most_runs_), length_);
      } else if (!ended_) {
        read();
        continue;
      } else {
        if (held_.size()) run_held();
        if (rows_.n == 0 || !short_end_) return false;
        out = call(1, rows_.n);
      }
      if (out.n) return true;
    }
  }
  bool prompt() const override { return false; }

 private:
  static std::size_t runs_of_piece(const detail::logical& node, const runtime::buffer_pool& pool) {
    const std::size_t rows = most_piece_rows(node.row->size, pool);
    return gives_one_row(node) ? rows : static_cast<std::size_t>(std::max<std::uint64_t>(rows / node.count, 1));
  }
  static const ir::type* row_of(const planner::vertex& v) { return v.node->inputs.front().node->row; }
  static void add(rows_buffer& to, const detail::table& rows, bool owned) {
    detail::row_block b;
    b.rows = const_cast<void*>(rows.rows);
    b.n = rows.n;
    b.owned = owned;
    to.append(b);
  }
  // Rows are put together only where a run begins in one piece and ends in another that does not lie behind it.
  void read() {
    detail::table more;
    if (!input_.next(more)) {
      ended_ = true;
      return;
    }
    const auto passed = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, more.n));
    skip_ -= passed;
    more = slice(more, passed, ~0ull);
    const bool fresh = input_.fresh();
    if (!rows_.n && !held_.size()) {
      rows_ = std::move(more);
      mine_ = fresh;
    } else if (rows_.n && !mine_ && !fresh && more.owner == rows_.owner && more.rows == row_at(rows_, rows_.n)) {
      rows_.n += more.n;
    } else {
      add(held_, std::exchange(rows_, {}), mine_);
      add(held_, more, fresh);
      if (held_.size() >= length_) run_held();
    }
  }
  void run_held() {
    rows_ = std::move(held_).to_table();
    held_ = rows_buffer(rows_.type, input_.tasks().pool());
    mine_ = true;
  }
  // `count` runs of the rows at hand, which are then given back but for those of later runs.
  detail::table call(std::size_t count, std::uint64_t length) {
    const auto n = static_cast<std::size_t>(length);
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(step_, rows_.n));
    constexpr std::size_t rows_a_task = 1 << 12;
    detail::table out = call_runs(*v_, rows_, count, std::max<std::size_t>(1, rows_a_task / n), input_.tasks(), [&](std::size_t i) {
      return run{i * step, n};
    });
    const std::uint64_t used = step_ > rows_.n ? step_ : std::uint64_t{count} * step;
    if (used >= rows_.n) skip_ = used - rows_.n;
    rows_ = used < rows_.n ? slice(rows_, used, ~0ull) : detail::table{};
    return out;
  }

  const planner::vertex* v_;
  vertex_input input_;
  detail::table rows_;          // those at hand
  bool mine_ = false;           // they lie in memory of this vertex, or of a piece that it was given
  rows_buffer held_;            // instead of them, while they are too few for a run
  std::uint64_t length_, step_, skip_ = 0;  // skip_: rows still to come that no run wants
  std::size_t most_runs_;                   // at once
  bool short_end_, ended_ = false;
};

}  // namespace

std::unique_ptr<row_pieces> stream_of_runs(const planner::vertex& v, runtime::run_context& context) {
  check_positive(v.node->count, *v.node, "the length");
  check_positive(v.node->step, *v.node, "the step");
  return std::make_unique<streamed_runs>(v, context);
}

namespace {

// Partitioned rows that row-wise verbs have changed since: they run partition by partition, so that the bounds stay known.
bool changed_partitions(const planner::vertex& v, const runtime::run_context& context) {
  const planner::branch& b = v.inputs.front();
  return b.table && !context.streams(*b.table) && (!b.stages.empty() || !b.prefilters.empty()) && bounds_of(context.table_of(*b.table));
}
detail::table collect_by_partition(const planner::vertex& v, const vertex_tasks& tasks) {
  planner::branch b = v.inputs.front();
  const detail::table whole = tasks.context().table_of(*b.table);
  planner::vertex one;
  b.table = &one;
  rows_buffer all(b.row, tasks.pool());
  std::vector<std::size_t> ends;
  std::size_t first = 0;
  for (const std::size_t end : bounds_of(whole)->ends) {
    tasks.context().tables[&one] = slice(whole, first, end - first);
    const detail::table t = collect(b, v.captures, tasks.context());
    all.append_rows(t.rows, t.n);
    ends.push_back(all.size());
    first = end;
  }
  tasks.context().tables.erase(&one);
  return with_bounds(std::move(all).to_table(), std::move(ends));
}

}  // namespace

detail::table apply_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const detail::table rows =
      !v.node->all && changed_partitions(v, tasks.context()) ? collect_by_partition(v, tasks) : collect_input(v, 0, tasks).table;
  if (v.node->all) return call_runs(v, rows, 1, 1, tasks, [&](std::size_t) { return run{0, rows.n}; });
  if (const runtime::partition_bounds* bounds = bounds_of(rows))
    return call_runs(v, rows, bounds->ends.size(), 1, tasks, [&](std::size_t i) {
      const std::size_t first = i ? bounds->ends[i - 1] : 0;
      return run{first, bounds->ends[i] - first};
    });
  return call_runs(v, rows, chunks_of(rows.n), 1, tasks, [&](std::size_t i) {
    return run{i * part_rows, std::min(part_rows, rows.n - i * part_rows)};
  });
}

}  // namespace query::cpu
