// distinct, union_with, intersect, except.
#include <deque>

#include <query/errors.hpp>

#include "cpu_engine/collected_columns.hpp"
#include "cpu_engine/first_of_keys.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/sampled_pieces.hpp"
#include "cpu_engine/set_partitions.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "cpu_engine/vertex_streams.hpp"

namespace query::cpu {

using detail::verb;

namespace {

// The first `most` of some row numbers.
permutation shortened(permutation rows, std::uint64_t most, std::size_t of, const vertex_tasks& tasks) {
  if (rows.size() <= most) return rows;
  permutation fewer(static_cast<std::size_t>(most), of, tasks.pool());
  tasks.chunks(fewer.size(), [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; ++i) fewer.set(i, rows[i]);
  });
  return fewer;
}

// The keys of records: where they lie, or computed.
class record_keys {
 public:
  record_keys(const planner::vertex& v, const vertex_tasks& tasks)
      : v_(&v), tasks_(&tasks), runs_(v.node->functions[0].result, equality_of(v.node->keys)) {}
  void add(const detail::table& rows) {
    const key_column& keys = columns_.emplace_back(v_->node->functions[0], v_->interpreted, rows, *tasks_, key_column::layout::any);
    const key_part part{.type = keys.type(), .base = static_cast<const std::byte*>(keys.base()), .stride = keys.stride()};
    runs_.add({&part, 1}, rows.n);
  }
  const key_runs& runs() const { return runs_; }

 private:
  const planner::vertex* v_;
  const vertex_tasks* tasks_;
  std::deque<key_column> columns_;
  key_runs runs_;
};

// intersect, except.
detail::table rows_found(const planner::vertex& v, set_inputs& inputs, const vertex_tasks& tasks) {
  const input_rows rows = inputs.take(0);
  permutation first;
  {
    record_keys keys(v, tasks), others(v, tasks);
    keys.add(rows.table);
    const input_rows other_rows = inputs.take(1);
    others.add(other_rows.table);
    first = first_of_keys(keys.runs(), others.runs(), v.node->what == verb::intersect, tasks);
  }
  return take_rows_by_id(rows, shortened(std::move(first), v.limit, rows.table.n, tasks), tasks);
}

// One row for each key, the first.
detail::table first_rows_of_keys(const planner::vertex& v, const input_rows& rows, const vertex_tasks& tasks) {
  permutation first;
  {
    record_keys keys(v, tasks);
    keys.add(rows.table);
    first = first_of_keys(keys.runs(), tasks);
  }
  if (first.size() == rows.table.n) return slice(rows.table, 0, v.limit);
  return take_rows_by_id(rows, shortened(std::move(first), v.limit, rows.table.n, tasks), tasks);
}

// The same of several inputs, one after the other. More than two are those of unions below (planner/rules/merge_concat.cpp).
detail::table union_rows(const planner::vertex& v, set_inputs& inputs, const vertex_tasks& tasks) {
  if (v.inputs.size() > 2) {
    if (!inputs.collected()) return first_rows_of_keys(v, {rows_of_inputs(v, ~0ull, tasks), false}, tasks);
    std::vector<piece> all;
    for (std::size_t i = 0; i < v.inputs.size(); ++i) all.emplace_back(inputs.take(i).table);
    return first_rows_of_keys(v, {side_by_side(std::move(all), v.node->row, tasks), false}, tasks);
  }
  const input_rows a = inputs.take(0), b = inputs.take(1);
  const std::size_t from_a = a.table.n, n = from_a + b.table.n;
  permutation first;
  {
    record_keys keys(v, tasks);
    keys.add(a.table);
    keys.add(b.table);
    first = shortened(first_of_keys(keys.runs(), tasks), v.limit, n, tasks);
  }
  const ir::type* type = v.node->row;
  return construct_rows(type, first.size(), tasks, [&](std::size_t start, std::size_t k, void* out) {
    new_rows made(type, out);
    for (std::size_t i = start; i < start + k; ++i) {
      const input_rows& from = first[i] < from_a ? a : b;
      const std::byte* row = row_at(from.table, first[i] < from_a ? first[i] : first[i] - from_a);
      if (from.fresh) move_rows(type, made.end(), const_cast<std::byte*>(row), 1);
      else copy_rows(type, made.end(), row, 1);
      made.grow(1);
    }
    made.release();
  }).to_table();
}

// distinct and union_with of streams: the keys seen so far are kept, the rows are not. One thread looks keys up. Where these become too
// many, the rest of inputs that end is put apart, with the keys, before more is given.
class streamed_distinct final : public row_pieces {
 public:
  streamed_distinct(const planner::vertex& v, runtime::run_context& context)
      : v_(&v),
        input_(v, context),
        seen_(v.node->functions[0].result, equality_of(v.node->keys), context.pool),
        used_before_(context.pool.used()),
        may_leave_(set_may_leave_memory(v, context) && !context.loops &&
                   std::none_of(v.inputs.begin(), v.inputs.end(), [&](const auto& b) { return comes_in_pieces(b, context); })),
        step_(most_rows(v, context)) {}
  bool next(detail::table& out, std::size_t) override {
    if (rest_) return rest_->next(out);
    detail::table rows;
    while (true) {
      if (may_leave_ && set_takes_too_much(input_.tasks().context(), used_before_)) return begin_rest() && rest_->next(out);
      if (!next_input(rows)) return false;
      const key_column keys(v_->node->functions[0], v_->interpreted, rows, input_.tasks(), key_column::layout::adjacent);
      const permutation first = seen_.first_of(keys.base(), rows.n, input_.tasks());
      if (first.size() == 0) continue;
      out = take_rows_by_id({rows, input_.fresh()}, first, input_.tasks());
      return true;
    }
  }
  bool prompt() const override { return false; }
  bool next_input(detail::table& rows) {
    if (!left_.n && !input_.next(left_)) return false;
    rows = slice(left_, 0, step_);
    left_ = left_.n > step_ ? slice(left_, step_, ~0ull) : detail::table{};
    return true;
  }
  void forget() { seen_ = seen_keys(v_->node->functions[0].result, equality_of(v_->node->keys), input_.tasks().pool()); }

 private:
  // Few enough for their keys not to fill the memory before anyone looks.
  static std::size_t most_rows(const planner::vertex& v, const runtime::run_context& context) {
    const std::size_t limit = context.pool.limit(), bytes = v.node->row->size + v.node->functions[0].result->size;
    return limit ? std::clamp<std::size_t>(limit / 64 / bytes, part_rows / 64, part_rows) : part_rows;
  }
  bool begin_rest() {
    runtime::run_context& context = input_.tasks().context();
    const auto rest = rest_of_distinct(*v_, input_.tasks(), std::move(seen_), [&](detail::table& more, bool& stay) {
      const bool any = next_input(more);
      stay = any && !input_.fresh();
      return any;
    });
    rest_ = std::make_unique<table_pass>(std::dynamic_pointer_cast<const made_tables>(rest.kept), context);
    return true;
  }

  const planner::vertex* v_;
  vertex_input input_;
  seen_keys seen_;
  std::size_t used_before_;
  bool may_leave_;
  std::size_t step_;
  detail::table left_;  // of what the input gave
  std::unique_ptr<table_pass> rest_;
};

// The first row of each key of a generator, whose other rows are not kept.
runtime::vertex_rows distinct_of_generator(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::size_t before = tasks.pool().used();
  // The first rows of a generator that need not end are found in memory.
  const bool may_leave = v.limit == ~0ull && set_may_leave_memory(v, tasks.context());
  auto stream = std::make_unique<streamed_distinct>(v, tasks.context());
  std::vector<piece> pieces;
  std::uint64_t left = v.limit;
  for (detail::table rows; left && stream->next(rows, part_rows); left -= rows.n) {
    rows = slice(rows, 0, left);
    pieces.emplace_back(rows);
    if (!may_leave || !set_takes_too_much(tasks.context(), before)) continue;
    stream->forget();
    return distinct_beyond_memory(v, tasks, std::move(pieces), [&](detail::table& more, bool&) { return stream->next_input(more); });
  }
  return side_by_side(std::move(pieces), v.node->row, tasks);
}

// Inputs as columns, of which the result selects rows. Nothing: they are not there as such, or memory has no room for their keys.
std::optional<runtime::vertex_rows> set_columns(const planner::vertex& v, const vertex_tasks& tasks) {
  const bool tells_apart = v.node->what == verb::intersect || v.node->what == verb::except;
  const detail::user_function& f = v.node->functions[0];
  const planner::column_schema schema = v.gives_columns->schema();
  collected_columns rows{schema, {}, {}}, others;
  double bytes = 0;
  for (std::size_t i = 0; i < v.inputs.size(); ++i) {
    auto input = collect_columns_of(v.inputs[i], v.captures, tasks.context());
    if (!input) return std::nullopt;
    constexpr std::size_t table_bytes = 32;  // of hashes, flags and numbers
    bytes += static_cast<double>(input->rows()) * static_cast<double>(f.result->size + table_bytes);
    if (tells_apart && i == 1) {
      others = std::move(*input);
    } else {
      regroup_columns(*input, schema);
      rows.take(std::move(*input));
    }
  }
  const std::size_t limit = tasks.pool().limit();
  if (limit && !fits_in(bytes, memory_left(tasks.pool()))) return std::nullopt;
  const auto select = [&] {
    const collected_keys keys(f, equality_of(v.node->keys), rows, tasks);
    permutation first;
    if (tells_apart) {
      const collected_keys other_keys(f, equality_of(v.node->keys), others, tasks);
      first = first_of_keys(keys.runs(), other_keys.runs(), v.node->what == verb::intersect, tasks);
    } else {
      first = first_of_keys(keys.runs(), tasks);
    }
    return shortened(std::move(first), v.limit, static_cast<std::size_t>(rows.rows()), tasks);
  };
  try {
    select_rows(rows, select(), tasks);
  } catch (const resource_error&) {  // there are too many different keys, or others have taken the room
    if (!limit) throw;
    return std::nullopt;
  }
  return runtime::vertex_rows(rows.list(v.node->row));
}

}  // namespace

runtime::vertex_rows set_rows(const planner::vertex& v, runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  const verb what = v.node->what;
  const auto* const source = v.inputs[0].source;
  if (what == verb::distinct && source && source->what == verb::source_stream) return distinct_of_generator(v, tasks);
  if (v.gives_columns)
    if (auto columns = set_columns(v, tasks)) return std::move(*columns);
  return set_as_memory_allows(v, tasks, [&](set_inputs& inputs) {
    switch (what) {
      case verb::distinct: return first_rows_of_keys(v, inputs.take(0), tasks);
      case verb::union_with: return union_rows(v, inputs, tasks);
      default: return rows_found(v, inputs, tasks);
    }
  });
}

std::unique_ptr<row_pieces> stream_of_distinct(const planner::vertex& v, runtime::run_context& context) {
  return std::make_unique<streamed_distinct>(v, context);
}

}  // namespace query::cpu
