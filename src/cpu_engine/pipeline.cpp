#include "cpu_engine/pipeline.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/column_fold.hpp"
#include "cpu_engine/column_list.hpp"
#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/large_join.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/sampled_pieces.hpp"
#include "cpu_engine/table_list.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "planner/known_sizes.hpp"
#include "runtime/shared_rows.hpp"

namespace query::cpu {

using detail::batch_sink;
using detail::logical;
using detail::row_block;
using detail::verb;

namespace {

// The rows of a vertex that gave several tables or columns, or the rows of a loop variable that are made as they are read. Null if they
// are of another kind, or already contiguous.
template <class Rows> std::shared_ptr<const Rows> several(const planner::branch& b, const runtime::run_context& context) {
  const runtime::vertex_rows* const rows = b.table || std::is_same_v<Rows, made_tables> ? context.rows_before(b) : nullptr;
  if (!rows || rows->here()) return nullptr;
  return std::dynamic_pointer_cast<const Rows>(rows->kept);
}

// Rows that own memory are made before the part that has them runs: so many rows at most, and no more than fit into memory.
std::size_t rows_for_memory(std::size_t rows, const table_pass* pass, const ir::type& row, const runtime::buffer_pool& pool) {
  if (!pass || !heap_charge::counts(row, pool)) return rows;
  constexpr std::size_t memory_share = 8, least_rows = 1 << 8;
  const std::size_t most = pool.limit() / memory_share / std::max<std::size_t>(1, pass->rows().row_bytes());
  while (rows > std::max(most, least_rows)) rows /= 2;
  return rows;
}

}  // namespace

pipeline::pipeline(const planner::branch& all, const std::vector<planner::binding>& captures, runtime::run_context& context,
                   bool all_over_columns, bool once)
    : context_(&context), behind_(behind_large_join(all, captures, context)), bindings_(context.bind(captures)), row_(all.row) {
  const planner::branch& b = behind_ ? behind_->rest : all;
  if (behind_ && once) {
    whole_.n = static_cast<std::size_t>(behind_->rows->size());
    source_row_ = behind_->rows->row();
    pass_ = std::make_unique<table_pass>(behind_->rows, context);
  } else if (behind_) {
    const detail::table t = behind_->rows->fetch(context);
    whole_.rows = const_cast<void*>(t.rows);
    whole_.n = t.n;
    owner_ = t.owner;
    source_row_ = t.type;
  } else if (comes_in_pieces(b, context)) {
    stream_ = open_pieces(b, context);
    stream_length_ = planner::most_rows(b);
    source_row_ = b.table ? b.table->row() : b.source->row;
  } else if ((list_ = several<table_list>(b, context))) {
    whole_.n = static_cast<std::size_t>(list_->size());
    source_row_ = list_->row();
    list_rows_ = context.rows_before(b);
  } else if ((columns_ = several<column_list>(b, context))) {
    whole_.n = static_cast<std::size_t>(columns_->size());
    source_row_ = columns_->row();
  } else if (auto made = once ? several<made_tables>(b, context) : nullptr) {
    whole_.n = static_cast<std::size_t>(made->size());
    source_row_ = made->row();
    pass_ = std::make_unique<table_pass>(std::move(made), context);
  } else if (b.table) {
    const detail::table& t = context.table_of(*b.table);
    whole_.rows = const_cast<void*>(t.rows);
    whole_.n = t.n;
    owner_ = t.owner;
    source_row_ = t.type;
  } else if (b.source->what == verb::placeholder) {
    const detail::table& t = context.variable(b.source->slot);
    whole_.rows = const_cast<void*>(t.rows);
    whole_.n = t.n;
    owner_ = t.owner;
    source_row_ = t.type;
  } else {
    b.source->view(b.source->source.get(), whole_);
    owner_ = b.source->source;
    source_row_ = b.source->row;
  }
  if (!stream_) rows_a_part_ = rows_a_part_of(whole_.n, source_row_->size);
  if (!b.stages.empty() && b.stages.front().fold) {
    add_step(make_column_fold(b), b.stages.front().out);
    return;
  }
  std::size_t over_columns = 0;  // stages, from the first on
  while (over_columns < b.stages.size() && b.stages[over_columns].how == planner::form::columns) ++over_columns;
  const planner::stage* first = b.prefilters.empty() && !b.stages.empty() ? &b.stages.front() : nullptr;
  const bool compiled_for_columns = first && first->native && first->native->reads_columns() && first->how == planner::form::native;
  const bool prefilters = over_columns || all_over_columns;
  if (prefilters || columns_ || (whole_.columns && !compiled_for_columns)) {
    over_columns_ = std::make_shared<const column_steps>(b, prefilters, over_columns, bindings_, context, columns_,
                                                          stream_ || pass_);
    keeps_rows_ = over_columns_->keeps_rows();
    add_step(records_of(over_columns_, context), over_columns_->row());
  }
  if (!prefilters)
    for (const planner::prefilter& f : b.prefilters) {
      add_step(prepare_prefilter(f, source_row_, context), source_row_);
      keeps_rows_ = false;
    }
  for (const planner::stage& s : std::span(b.stages).subspan(over_columns)) {
    add_step(prepare_stage(s, bindings_, context), s.out);
    if (s.what == planner::stage::kind::probe) keeps_rows_ = false;
    else if (s.native) keeps_rows_ = keeps_rows_ && s.native->keeps_position();
    else
      for (const logical* n : s.nodes) keeps_rows_ = keeps_rows_ && n->what == verb::select;
  }
  if (!row_) row_ = source_row_;
  rows_a_part_ = rows_for_memory(rows_a_part_, pass_.get(), *source_row_, context.pool);
}

pipeline::~pipeline() = default;

const planner::column_schema* pipeline::columns() const {
  return over_columns_ && steps_.size() == 1 ? &over_columns_->schema() : nullptr;
}

std::vector<column> pipeline::columns_in_place() const {
  std::vector<column> all;
  if (!columns() || !over_columns_->only_tests() || stream_ || pass_ || list_ || columns_ || !(whole_.columns || whole_.rows)) return all;
  if (whole_.columns) over_columns_->columns_of(whole_.columns, 0, all);
  else columns_of_rows(*columns(), whole_.rows, source_row_->size, 0, all);
  return all;
}

const column_list* pipeline::list_as_it_is() const {
  return columns() && keeps_rows_ && over_columns_->only_tests() ? columns_.get() : nullptr;
}

std::optional<std::uint64_t> pipeline::source_rows() const {
  if (stream_) return std::nullopt;
  return whole_.n;
}

bool pipeline::source_as_it_is() const { return !stream_ && steps_.empty() && !whole_.columns; }
bool pipeline::in_place() const { return source_as_it_is() && !pass_; }
bool pipeline::next_made(detail::table& t) {
  if (!pass_->next(t)) return false;
  context_->rows_read(t.n);
  return true;
}

bool pipeline::next_piece(detail::table& t) {
  context_->cancel.check();
  t = {};  // the next piece may use its memory
  if (!stream_->next(t, wanted_of_stream(true))) return false;
  context_->rows_read(t.n);
  passed(t.n);
  return true;
}

// A reader that begins with a few rows may want no more, so pieces grow step by step.
std::size_t pipeline::wanted_of_stream(bool few) {
  return piece_rows_ = piece_rows_ ? std::min(8 * piece_rows_, part_rows) : few ? batch_rows : part_rows;
}

// Reports progress: a part of so many rows has run.
void pipeline::passed(std::size_t rows) {
  if (!context_->progress || !*context_->progress) return;
  if (const auto all = parts()) context_->progress->part_done(*all);
  else if (stream_length_ != unknown_length) context_->progress->part_done(stream_length_, rows);
}

std::vector<std::shared_ptr<const void>> pipeline::sources() const {
  std::vector<std::shared_ptr<const void>> all{owner_, over_columns_};
  if (list_) all.push_back(list_);
  return all;
}

std::vector<detail::table> pipeline::as_tables() const {
  if (list_ && in_place()) return list_->tables();
  if (auto t = as_table()) return {*t};
  return {};
}

std::optional<detail::table> pipeline::as_table() const {
  if (!in_place()) return std::nullopt;
  if (list_) return context_->fetched(*list_rows_);
  detail::table t;
  t.owner = std::const_pointer_cast<void>(owner_);
  t.rows = whole_.rows;
  t.n = whole_.n;
  t.type = source_row_;
  return t;
}

std::size_t rows_a_part_of(std::size_t rows, std::size_t row_bytes) {
  constexpr std::size_t wide = 256, enough_parts = 64, least_rows = 1 << 11;
  if (row_bytes < wide) return part_rows;
  return std::clamp(std::bit_ceil(rows / enough_parts), least_rows, part_rows);
}

std::optional<std::size_t> pipeline::parts() const {
  if (stream_) return std::nullopt;
  return (whole_.n + rows_a_part_ - 1) / rows_a_part_;
}

void pipeline::limit_parts(std::size_t most) {
  if (stream_) return;
  const std::size_t least = std::min(rows_a_part_, part_rows), parts_now = (whole_.n + least - 1) / least;
  if (parts_now > most) rows_a_part_ = (parts_now + most - 1) / most * least;
  rows_a_part_ = rows_for_memory(rows_a_part_, pass_.get(), *source_row_, context_->pool);
}

bool pipeline::shorten_parts(std::size_t part, std::size_t rows) {
  if (((stream_ || pass_) && next_part_) || rows > rows_a_part_) return false;
  next_part_ = part * (rows_a_part_ / rows);
  rows_a_part_ = rows;
  return true;
}

std::size_t pipeline::most_rows_a_part() const {
  if (!stream_) return rows_a_part_;
  return std::min(rows_a_part_, stream_->prompt() ? most_generated_rows(source_row_->size) : piece_part_rows);
}

void pipeline::fill_window(std::size_t most) {
  window_.clear();
  while (window_.size() < most && !stream_ended_) {
    if (cut_.empty()) {
      if (!stream_->prompt() && !window_.empty()) return;
      context_->cancel.check();
      detail::table rows;
      if (!stream_->next(rows, piece_rows_)) {
        stream_ended_ = true;
        return;
      }
      const std::size_t length = std::min(rows_a_part_, stream_->prompt() ? part_rows : piece_part_rows);
      for (std::size_t from = 0; from < rows.n; from += length) cut_.push_back(slice(rows, from, length));
    }
    window_.push_back({std::move(cut_.front()), stream_rows_});
    cut_.pop_front();
    stream_rows_ += window_.back().rows.n;
  }
}

// How many parts of a stream may wait for the threads at once. Their rows have to fit in memory.
std::size_t pipeline::most_in_window() const {
  constexpr std::size_t memory_share = 8;
  const std::size_t limit = context_->pool.limit(), threads = static_cast<std::size_t>(std::max(1, context_->scheduler.concurrency()));
  if (!limit) return ~std::size_t{0};
  return std::max(limit / memory_share / (most_rows_a_part() * source_row_->size), std::min<std::size_t>(threads, 4));
}

detail::row_block pipeline::rows_at(std::size_t first, std::size_t n) const {
  detail::row_block rows = whole_;
  rows.n = std::min(n, whole_.n - first);
  rows.first = first;
  if (whole_.rows) rows.rows = static_cast<std::byte*>(whole_.rows) + first * source_row_->size;
  return rows;
}

void pipeline::run_rows(std::size_t first, std::size_t n, function_ref<void(const part&)> body) {
  const detail::binding_scope scope(bindings_);
  part p;
  p.of = this;
  p.rows = rows_at(first, n);
  body(p);
}

bool pipeline::run_some(std::size_t most, function_ref<void(const part&)> body) {
  const auto run = [&](std::size_t index, const detail::row_block& rows) {
    const detail::binding_scope scope(bindings_);
    part p;
    p.index = index;
    p.of = this;
    p.rows = rows;
    if (!stream_ && context_->shared && !context_->shared->take(p.rows.first, p.rows.first + p.rows.n)) return;
    context_->rows_read(rows.n);
    body(p);
    passed(rows.n);
  };
  if (stream_) {
    wanted_of_stream(most == 1);
    const std::size_t before = next_part_, at_once = most_in_window();
    while (next_part_ - before < most) {
      fill_window(std::min(at_once, most - (next_part_ - before)));
      if (window_.empty()) break;
      context_->scheduler.for_each(window_.size(), [&](std::size_t i) {
        detail::row_block rows;
        rows.rows = const_cast<void*>(window_[i].rows.rows);
        rows.n = window_[i].rows.n;
        rows.first = window_[i].first;
        run(next_part_ + i, rows);
      }, context_->cancel);
      next_part_ += window_.size();
      if (!stream_->prompt() && cut_.empty()) break;  // the next piece may take any time
    }
    return next_part_ != before;
  }
  const std::size_t base = next_part_, count = std::min(most, *parts() - std::min(base, *parts()));
  for (std::size_t done = 0; done < count;) {
    const std::size_t ready = pass_ ? ready_parts(base + done, base + count) : count;
    context_->scheduler.for_each(ready, [&](std::size_t i) {
      run(base + done + i, rows_at((base + done + i) * rows_a_part_, rows_a_part_));
    }, context_->cancel);
    done += ready;
  }
  next_part_ += count;
  return count != 0;
}

// Makes the rows of the first of these parts, if necessary, and returns how many of the parts then have all their rows.
std::size_t pipeline::ready_parts(std::size_t first, std::size_t end) {
  const std::uint64_t end_of_first = std::min<std::uint64_t>((first + 1) * rows_a_part_, whole_.n);
  pass_->passed(first * rows_a_part_);
  while (pass_->made() < end_of_first) pass_->make_more();
  if (pass_->made() == whole_.n) return end - first;
  return std::min(end, static_cast<std::size_t>(pass_->made() / rows_a_part_)) - first;
}

void pipeline::run_all(function_ref<void(const part&)> body) {
  if (!stream_) {
    run_some(~std::size_t{0} / 2, body);
    return;
  }
  const std::size_t window = static_cast<std::size_t>(context_->scheduler.concurrency()) * 4;
  while (run_some(window, body)) {
  }
}

namespace {

// A block of a columnar source seen from row `from` on.
struct shifted_columns {
  std::vector<const void*> bases;
  shifted_columns(const row_block& b, const ir::type* row, std::size_t from) {
    for (std::size_t i = 0; i < row->field_list.size(); ++i)
      bases.push_back(static_cast<const std::byte*>(b.columns[i]) + from * row->field_list[i].of->size);
  }
};

class append_to final : public batch_sink {
 public:
  explicit append_to(rows_buffer& to) : to_(&to) {}
  void push(const row_block& b) override { to_->append(b); }

 private:
  rows_buffer* to_;
};

// The end of a chain that folds: the last stage folds by itself if it can.
class fold_end final : public batch_sink {
 public:
  fold_end(detail::fold_kind k, const ir::type* row, detail::fold_state& s) : kind_(k), row_(row), state_(&s) {}
  void push(const row_block& b) override {
    if (kind_ == detail::fold_kind::count) state_->count += b.n;
    else if (!fold_values(kind_, row_->k, b, *state_)) throw internal_error("query: fold of rows that are not numbers");
  }

 private:
  detail::fold_kind kind_;
  const ir::type* row_;
  detail::fold_state* state_;
};
class fold_last final : public batch_sink {
 public:
  fold_last(stage_runner& last, detail::fold_kind k, detail::fold_state& s) : last_(&last), kind_(k), state_(&s) {}
  void push(const row_block& b) override {
    if (!last_->fold(kind_, b, *state_)) last_->push(b);
  }

 private:
  stage_runner* last_;
  detail::fold_kind kind_;
  detail::fold_state* state_;
};

// Parts reach the stages in slices of fixed size, so sums do not depend on the length of parts (limit_parts). A query that should stop
// ends after a slice, not after a part, because a user's function may take a millisecond for each row. Slices of large rows are shorter.
constexpr std::size_t most_slice_rows = 1 << 13, most_slice_bytes = std::size_t{4} << 20;
std::size_t slice_rows(const ir::type* row) { return std::clamp<std::size_t>(most_slice_bytes / row->size, 1, most_slice_rows); }
template <class Push> void in_slices(const row_block& rows, const ir::type* row, const runtime::cancel_flag& cancel, Push push) {
  const std::size_t most = slice_rows(row);
  for (std::size_t from = 0; from < rows.n; from += most) {
    cancel.check();
    row_block b = rows;
    b.n = std::min(most, rows.n - from);
    b.first = rows.first + from;
    if (rows.columns) {
      const shifted_columns here(rows, row, static_cast<std::size_t>(b.first));
      b.columns = here.bases.data();
      push(b);
    } else {
      if (rows.rows) b.rows = static_cast<std::byte*>(rows.rows) + from * row->size;  // otherwise, rows have only numbers
      push(b);
    }
  }
}

// A few steps at work, each handing its batches to the next. The first of their runners takes the rows.
class chain {
 public:
  template <class Steps> chain(const Steps& steps, std::size_t first, std::size_t end, batch_sink& to) : head_(&to) {
    for (std::size_t i = end; i-- > first;) add(*steps[i].stage);
  }
  // The last step folds by itself if it can.
  template <class Steps>
  chain(const Steps& steps, std::size_t first, std::size_t end, batch_sink& to, detail::fold_kind k, detail::fold_state& state)
      : head_(&to) {
    for (std::size_t i = end; i-- > first;) {
      add(*steps[i].stage);
      if (last_) continue;
      last_.emplace(*runners_.back(), k, state);
      head_ = &*last_;
    }
  }
  void push(const row_block& b) { head_->push(b); }
  void keep_blocks() { runners_.back()->keep_blocks(); }

 private:
  void add(const prepared_stage& s) {
    runners_.push_back(s.start(*head_));
    head_ = runners_.back().get();
  }
  std::vector<std::unique_ptr<stage_runner>> runners_;
  std::optional<fold_last> last_;
  batch_sink* head_;
};

// Steps call each other, so the depth of calls is limited: steps form groups of this size, and the rows of a slice wait in a buffer between
// one group and the next.
constexpr std::size_t most_nested = 32;

}  // namespace

// Slices have the same rows as if all tables were one: rows of several tables are put into a buffer.
template <class Push> void pipeline::part::made_slices(Push push) const {
  const ir::type* row = of->source_row_;
  const std::size_t most = slice_rows(row);
  rows_buffer of_several(row, of->context_->pool);
  for (std::size_t from = 0; from < rows.n; from += most) {
    of->context_->cancel.check();
    row_block b = rows;
    b.n = std::min(most, rows.n - from);
    b.first = rows.first + from;
    b.owned = true;
    of_several.clear();
    of->pass_->each_run(b.first, b.n, [&](std::byte* at, std::size_t n) {
      if (n == b.n) b.rows = at;
      else of_several.take_rows(at, n);
    });
    if (of_several.size()) b.rows = of_several.data();
    push(b);
  }
}

// Pushes the slices of each table that contains rows of the part.
template <class Push> void pipeline::part::slices(Push push) const {
  const runtime::cancel_flag& cancel = of->context_->cancel;
  if (of->pass_) return made_slices(push);
  if (!of->list_) return in_slices(rows, of->source_row_, cancel, push);
  std::uint64_t first = rows.first;
  of->list_->each_run(rows.first, rows.n, [&](const detail::table& t, std::size_t from, std::size_t n) {
    row_block b = rows;
    b.rows = const_cast<std::byte*>(row_at(t, from));
    b.n = n;
    b.first = first;
    first += n;
    in_slices(b, of->source_row_, cancel, push);
  });
}

// Runs all groups of steps but the last over each slice. `last` receives the number of the last group's first step, and the rows for it.
template <class Push> void pipeline::part::run_groups(Push last) const {
  const std::vector<step>& steps = of->steps_;
  const std::size_t from = (steps.size() - 1) / most_nested * most_nested;
  const runtime::cancel_flag& cancel = of->context_->cancel;
  slices([&](const row_block& b) {
    row_block now = b;
    rows_buffer held(of->source_row_, of->context_->pool);
    for (std::size_t first = 0; first < from && now.n; first += most_nested) {
      rows_buffer given(steps[first + most_nested - 1].out, of->context_->pool);
      append_to sink(given);
      chain c(steps, first, first + most_nested, sink);
      if (first == 0) c.push(now);
      else in_slices(now, held.type(), cancel, [&](const row_block& some) { c.push(some); });
      held = std::move(given);
      now = {};
      now.rows = held.data();
      now.n = held.size();
      now.owned = true;
    }
    if (now.n) in_slices(now, held.type(), cancel, [&](const row_block& some) { last(from, some); });
  });
}

void pipeline::part::run(batch_sink& to) const {
  const std::vector<step>& steps = of->steps_;
  if (steps.size() > most_nested) {
    run_groups([&](std::size_t from, const row_block& b) { chain(steps, from, steps.size(), to).push(b); });
    return;
  }
  chain c(steps, 0, steps.size(), to);
  slices([&](const row_block& b) { c.push(b); });
}

void pipeline::part::run_columns(column_sink& to) const {
  const auto steps = of->over_columns_->start(to);
  slices([&](const row_block& b) { steps->push(b); });
}

void pipeline::part::fold(detail::fold_kind k, detail::fold_state& state) const {
  const std::vector<step>& steps = of->steps_;
  fold_end end(k, of->row_, state);
  if (steps.size() > most_nested) {
    run_groups([&](std::size_t from, const row_block& b) { chain(steps, from, steps.size(), end, k, state).push(b); });
    return;
  }
  chain c(steps, 0, steps.size(), end, k, state);
  // Sums of floats must equal those over records to the last bit, because rows become records when memory has no room for columns.
  const bool in_order = (k == detail::fold_kind::sum || k == detail::fold_kind::average) && ir::is_floating(of->row_->k);
  if (of->columns_ && in_order) c.keep_blocks();
  slices([&](const row_block& b) { c.push(b); });
}

}  // namespace query::cpu
