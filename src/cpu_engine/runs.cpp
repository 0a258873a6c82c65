// chunk, window and apply: functions of runs of adjacent rows.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/collected_rows.hpp"
#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/partitioned_tables.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/row_lists.hpp"
#include "cpu_engine/run_lists.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "cpu_engine/vertex_streams.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

using runtime::bounds_of;
using runtime::with_bounds;

namespace {

// Rows [first, first + n) of the input; and of how many runs from this one on that is known: they have the same length, `step` rows apart.
struct run {
  std::size_t first = 0, n = 0, step = 0, alike = 1;
};
// Run i of all those that are full: `length` rows, `step` apart.
run full_run(std::size_t i, std::size_t length, std::size_t step, std::size_t full) { return {i * step, length, step, full - i}; }

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
// one distance, share a call. What tasks give is numbered from `first_task` on.
void call_runs(const planner::vertex& v, const detail::table& rows, std::size_t count, std::size_t a_task, const vertex_tasks& tasks,
               function_ref<run(std::size_t)> at, collected_parts& out, std::size_t first_task = 0) {
  const detail::logical& node = *v.node;
  const detail::user_function& f = node.functions[0];
  const function_calls function(f, v.interpreted, false);
  tasks.for_each((count + a_task - 1) / a_task, [&](std::size_t t) {
    collected_parts::part to(out, first_task + t);
    std::optional<interpreted_run> interpreted;
    rows_buffer given(node.row, tasks.pool());  // by an interpreted function
    if (function.is_interpreted()) interpreted.emplace(function, f.row, tasks.pool());
    const detail::stop_point stop;
    const std::size_t first = t * a_task, end = std::min(count, first + a_task);
    if (gives_one_row(node)) to.reserve(end - first);  // a buffer that grows begins with a batch: far too much for a long run
    for (std::size_t i = first; i < end;) {
      const run r = at(i);
      if (interpreted) {
        interpreted->call(rows, r, given);
        detail::row_block b;
        b.rows = given.data();
        b.n = given.size();
        b.owned = true;
        to.push(b);
        given.clear();
        ++i;
      } else {
        const detail::row_runs alike{r.n, r.step, std::min(r.alike, end - i)};
        node.rows_call(f.f.get(), row_at(rows, r.first), alike, to);
        i += alike.count;
      }
      stop.check();
    }
    to.finish();
  });
}
collected_rows call_runs(const planner::vertex& v, const detail::table& rows, std::size_t count, std::size_t a_task,
                         const vertex_tasks& tasks, function_ref<run(std::size_t)> at) {
  collected_parts out(v.node->row, (count + a_task - 1) / a_task, 0, tasks.context());
  call_runs(v, rows, count, a_task, tasks, at, out);
  return std::move(out).rows(tasks);
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

runtime::vertex_rows chunk_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  check_positive(v.node->count, *v.node, "the length");
  if (auto streamed = streamed_into_store(v, tasks.context())) return std::move(*streamed);
  const detail::table rows = collect_input(v, 0, tasks).table;
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(v.node->count, std::max<std::size_t>(rows.n, 1)));
  const std::size_t full = rows.n / length;
  return call_runs(v, rows, (rows.n + length - 1) / length, runs_a_task(length), tasks, [&](std::size_t i) {
    return i < full ? full_run(i, length, length, full) : run{i * length, rows.n - i * length};
  }).as_vertex_rows();
}

runtime::vertex_rows window_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  check_positive(v.node->count, *v.node, "the length");
  check_positive(v.node->step, *v.node, "the step");
  if (auto streamed = streamed_into_store(v, tasks.context())) return std::move(*streamed);
  const detail::table rows = collect_input(v, 0, tasks).table;
  const std::uint64_t length = v.node->count;
  if (rows.n < length) return rows_buffer(v.node->row, tasks.pool()).to_table();
  const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(v.node->step, rows.n));
  const std::size_t count = (rows.n - static_cast<std::size_t>(length)) / step + 1;
  return call_runs(v, rows, count, runs_a_task(length), tasks, [&](std::size_t i) {
    return full_run(i, static_cast<std::size_t>(length), step, count);
  }).as_vertex_rows();
}

namespace {

// Of lists of rows that are made at once: for each thread what a cache holds, so that the memory of some is used again for the next.
constexpr std::size_t list_bytes_a_thread = std::size_t{1} << 20, most_list_bytes = std::size_t{16} << 20;
constexpr std::size_t long_list_bytes = std::size_t{1} << 19;  // where less than a part fits

// Runs of a stream: `length` rows each, `step` apart; a chunk's last one may be shorter.
class streamed_runs final : public row_pieces {
 public:
  streamed_runs(const planner::vertex& v, runtime::run_context& context)
      : v_(&v), input_(v, context), held_(row_of(v), context.pool), length_(v.node->count),
        step_(v.node->what == detail::verb::chunk ? v.node->count : v.node->step),
        most_runs_(runs_of_piece(*v.node, context)), short_end_(v.node->what == detail::verb::chunk) {
    constexpr std::size_t memory_share = 4;
    const std::size_t limit = context.pool.limit();
    if (v.node->all && !v.interpreted && run_lists::can_make(v.node->row, length_, context.pool) &&
        (!limit || most_list_bytes <= limit / memory_share))
      lists_.emplace(v.node->row, context.pool);
  }

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
  static std::size_t runs_of_piece(const detail::logical& node, const runtime::run_context& context) {
    const std::size_t rows = most_piece_rows(node.row->size, context.pool);
    const auto threads = static_cast<std::size_t>(std::max(1, context.scheduler.concurrency()));
    if (node.all) return std::min(rows, lists_of_piece(node.inputs.front().node->row->size, node.count, threads));
    return gives_one_row(node) ? rows : static_cast<std::size_t>(std::max<std::uint64_t>(rows / node.count, 1));
  }
  // By what they hold, but for the strings of their rows. Whole parts, if one fits: sums are added up part by part.
  static std::size_t lists_of_piece(std::size_t row_size, std::uint64_t length, std::size_t threads) {
    const auto lists_in = [&](std::size_t bytes) {
      return static_cast<std::size_t>(std::max<std::uint64_t>(bytes / row_size / length, 1));
    };
    const std::size_t most = lists_in(most_list_bytes);
    if (most < piece_part_rows) return lists_in(long_list_bytes);
    const std::size_t wanted = std::min(most, lists_in(list_bytes_a_thread * threads));
    return std::max(wanted / piece_part_rows, std::size_t{1}) * piece_part_rows;
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
    const std::size_t a_task = std::max<std::size_t>(1, rows_a_task / n);
    const auto at = [&](std::size_t i) { return full_run(i, n, step, count); };
    detail::table out;
    if (lists_) {
      out = lists_->of(rows_, {n, step, count}, a_task, input_.tasks());
    } else {
      const collected_rows given = call_runs(*v_, rows_, count, a_task, input_.tasks(), at);
      out = given.made ? given.made->fetch(input_.tasks().context()) : given.rows.table;
    }
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
  std::optional<run_lists> lists_;          // of the runs themselves
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

namespace {

// Runs of rows one after the other, of tables that are made as they are read, a few at a time: each side by side.
class runs_of_tables {
 public:
  runs_of_tables(std::shared_ptr<made_tables> of, const std::vector<std::size_t>& ends, runtime::run_context& context)
      : of_(of), pass_(std::move(of), context), ends_(&ends), context_(&context) {}
  bool ended() const { return next_ == ends_->size(); }
  std::size_t next_number() const { return next_; }
  // As many as there is room for, at least one.
  std::vector<detail::table> next() {
    constexpr std::size_t memory_share = 8, runs_a_thread = 4;
    const std::size_t most = runs_a_thread * static_cast<std::size_t>(std::max(1, context_->scheduler.concurrency()));
    const std::size_t room = context_->pool.limit() / memory_share;
    std::vector<detail::table> all;
    for (std::size_t bytes = 0; next_ < ends_->size() && all.size() < most; ++next_) {
      const std::size_t rows = (*ends_)[next_] - (next_ ? (*ends_)[next_ - 1] : 0);
      bytes += rows * of_->row_bytes();
      if (!all.empty() && bytes > room) break;
      try {
        all.push_back(side_by_side(rows));
      } catch (const resource_error& e) {
        throw resource_error("partition " + std::to_string(next_ + 1) + " of " + std::to_string(ends_->size()) + " has " +
                             std::to_string(rows) + " rows, which its function wants side by side in memory; divide the rows into more "
                             "partitions; " + e.what());
      }
    }
    return all;
  }

 private:
  detail::table side_by_side(std::size_t n) {
    if (!rest_.n && n && !pass_.next(rest_)) throw internal_error("query: partitions have more rows than their tables");
    if (n <= rest_.n) {
      detail::table rows = slice(rest_, 0, n);
      rest_ = slice(rest_, n, ~0ull);
      if (!n) rows.type = of_->row();
      return rows;
    }
    rows_buffer rows(of_->row(), context_->pool);
    rows.reserve(n);
    while (rows.size() < n) {
      context_->cancel.check();
      if (!rest_.n && !pass_.next(rest_)) throw internal_error("query: partitions have more rows than their tables");
      const detail::table some = slice(rest_, 0, n - rows.size());
      rest_ = slice(rest_, some.n, ~0ull);
      rows.take_rows(const_cast<void*>(some.rows), some.n);
      if (!rest_.n) rest_ = {};
    }
    return std::move(rows).to_table();
  }

  std::shared_ptr<made_tables> of_;
  table_pass pass_;
  detail::table rest_;  // of the table that was made last
  const std::vector<std::size_t>* ends_;
  runtime::run_context* context_;
  std::size_t next_ = 0;
};

// The function of each run of rows that are made as they are read; `changed`: row-wise verbs change the rows of a run first.
runtime::vertex_rows apply_to_tables(const planner::vertex& v, std::shared_ptr<made_tables> of, const std::vector<std::size_t>& ends,
                                     bool changed, const vertex_tasks& tasks) {
  runtime::run_context& context = tasks.context();
  collected_parts out(v.node->row, ends.size(), 0, context);
  const ir::type* const row = of->row();
  runs_of_tables runs(std::move(of), ends, context);
  while (!runs.ended()) {
    const std::size_t first = runs.next_number();
    std::vector<detail::table> some = runs.next();
    for (detail::table& rows : some) {
      if (!changed) break;
      const branch_of_rows one(row, rows, context);
      planner::branch b = v.inputs.front();
      b.table = one.vertex();
      rows = collect(b, v.captures, context);
    }
    tasks.for_each(some.size(), [&](std::size_t i) {
      call_runs(v, some[i], 1, 1, tasks, [&](std::size_t) { return run{0, some[i].n}; }, out, first + i);
      some[i] = {};
    });
  }
  return std::move(out).rows(tasks).as_vertex_rows();
}

std::vector<std::size_t> ends_of_parts(std::uint64_t rows) {
  std::vector<std::size_t> ends;
  for (std::uint64_t end = 0; end < rows;) ends.push_back(static_cast<std::size_t>(end = std::min<std::uint64_t>(rows, end + part_rows)));
  return ends;
}

}  // namespace

runtime::vertex_rows apply_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  runtime::run_context& context = tasks.context();
  const planner::branch& b = v.inputs.front();
  if (v.node->all) {
    const detail::table rows = collect_input(v, 0, tasks).table;
    return call_runs(v, rows, 1, 1, tasks, [&](std::size_t) { return run{0, rows.n}; }).as_vertex_rows();
  }
  const bool changed = !b.stages.empty() || !b.prefilters.empty();
  if (const runtime::vertex_rows* kept = b.table && !context.streams(*b.table) ? context.rows_before(b) : nullptr; kept && !kept->here())
    if (auto parts = std::dynamic_pointer_cast<partitioned_tables>(kept->kept))
      return apply_to_tables(v, parts, parts->ends(), changed, tasks);
  if (changed_partitions(v, context)) {
    const detail::table whole = context.table_of(*b.table);
    if (may_leave_memory(b.row, context) && may_leave_memory(whole.type, context) && !has_room_for(whole.n, 2 * b.row->size, context)) {
      const std::vector<std::size_t> ends = bounds_of(whole)->ends;
      return apply_to_tables(v, collected_rows{{whole, false}, nullptr}.as_made(context), ends, true, tasks);
    }
  }
  const collected_rows in = changed_partitions(v, context) ? collected_rows{{collect_by_partition(v, tasks), true}, nullptr}
                                                           : collect_as_memory_allows(b, v.captures, context);
  if (in.made) return apply_to_tables(v, in.made, ends_of_parts(in.size()), false, tasks);
  const detail::table& rows = in.rows.table;
  if (const runtime::partition_bounds* bounds = bounds_of(rows))
    return call_runs(v, rows, bounds->ends.size(), 1, tasks, [&](std::size_t i) {
      const std::size_t first = i ? bounds->ends[i - 1] : 0;
      return run{first, bounds->ends[i] - first};
    }).as_vertex_rows();
  return call_runs(v, rows, chunks_of(rows.n), 1, tasks, [&](std::size_t i) {
    return run{i * part_rows, std::min(part_rows, rows.n - i * part_rows)};
  }).as_vertex_rows();
}

}  // namespace query::cpu
