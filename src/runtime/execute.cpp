// Terminal verbs: plan, run the vertices, then serve the result in the way that was asked for.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>
#include <query/lookup.hpp>
#include <query/verbs/terminals.hpp>

#include "data/summarise.hpp"
#include "data/table_print.hpp"
#include "planner/cluster_graph.hpp"
#include "planner/column_names.hpp"
#include "planner/machine_graph.hpp"
#include "planner/trace_memo.hpp"
#include "runtime/execution.hpp"
#include "runtime/long_lists.hpp"
#include "runtime/planned_query.hpp"
#include "runtime/progress.hpp"
#include "runtime/run_history.hpp"
#include "runtime/session_state.hpp"
#include "runtime/stream_rows.hpp"
#include "runtime/terminal_plan.hpp"

namespace query::detail {

namespace {

using runtime::execution;
using runtime::engine_choices;
using runtime::session_state;

}  // namespace

void stream_rows(const pipe& p, const settings& s, function_ref<void*(std::uint64_t)>* room, function_ref<void(std::uint64_t)> expected,
                 function_ref<bool(const row_block&)> take, const char* terminal, call_site where) {
  execution e(p, s, "rows", planner::reading::in_order, {}, terminal, where, room == nullptr);
  bool handed_out = false;  // the expected number of rows, too: one that differs would be news
  const auto expects = [&](std::uint64_t n) {
    handed_out = true;
    expected(n);
  };
  std::uint64_t taken = 0, before = 0;  // before: rows of tables that were handed on earlier
  bool all = true;
  // A few rows at a time, with a look at the clock before each: the source may be one block, and the user's vector copies it.
  const std::size_t a_look = std::clamp<std::size_t>((std::size_t{1} << 20) / e.last->row->size, 1, 1 << 14);
  const auto takes = [&](const row_block& b) {
    handed_out = true;
    const stop_point stop;
    for (std::size_t from = 0; all && from < b.n; from += a_look) {
      stop.check();
      row_block some = b;
      some.rows = static_cast<std::byte*>(b.rows) + from * e.last->row->size;
      some.n = std::min(a_look, b.n - from);
      some.first = before + b.first + from;
      taken += some.n;
      all = take(some);
    }
    return all;
  };
  const auto has_room = [&](std::uint64_t n) {
    handed_out = true;
    taken = n;
    return (*room)(n);
  };
  e.read(
      [&] {
        if (room && e.session->cpu->assign(e.graph->result, e.graph->captures, has_room, e.context)) return;
        if (!e.hands_on()) return e.session->cpu->stream(e.graph->result, e.graph->captures, expects, takes, e.context);
        while (all && e.next_rows()) {
          before = taken;
          e.session->cpu->stream(e.graph->result, e.graph->captures, [](std::uint64_t) {}, takes, e.context);
        }
      },
      handed_out);
  e.gave(taken);
  if (!all) return e.meter.finished();
  e.finished();
  runtime::note_selectivity(e.graph->result, taken, e.context);
}

table materialise(const pipe& p, const settings& s) {
  execution e(p, s, "", planner::reading::whole);
  table t = e.read([&] {
    const auto clock = e.clock("cpu");
    return e.session->cpu->collect(e.graph->result, e.graph->captures, e.context);
  });
  e.gave(t.n);
  e.finished();
  runtime::note_selectivity(e.graph->result, t.n, e.context);
  // The session owns the memory that the rows are in.
  struct kept {
    std::shared_ptr<session_state> session;
    std::shared_ptr<void> rows;
  };
  auto k = std::make_shared<kept>(kept{e.session, t.owner});
  t.owner = std::shared_ptr<void>(k, k.get());
  return t;
}

void stream(const pipe& p, const settings& s, function_ref<void(std::uint64_t)> expected, function_ref<bool(const row_block&)> take) {
  stream_rows(p, s, nullptr, expected, take);
}

void assign_or_stream(const pipe& p, const settings& s, function_ref<void*(std::uint64_t)> room, function_ref<void(std::uint64_t)> expected,
                      function_ref<bool(const row_block&)> take) {
  stream_rows(p, s, &room, expected, take);
}

std::shared_ptr<const chunk_list> collect_columns(const pipe& p, const settings& s) {
  execution e(p, s, "rows", planner::reading::columns);
  struct kept {
    std::shared_ptr<session_state> session;  // owns the memory that the columns are in
    std::shared_ptr<const void> columns;
  };
  chunk_list all = e.read([&] { return e.session->cpu->columns(e.graph->result, e.graph->captures, e.context); });
  e.gave(all.rows);
  e.finished();
  runtime::note_selectivity(e.graph->result, all.rows, e.context);
  all.owner = std::make_shared<kept>(kept{e.session, std::move(all.owner)});
  return std::make_shared<const chunk_list>(std::move(all));
}

std::unique_ptr<row_cursor> open_cursor(const pipe& p, const settings& s, const char* terminal, call_site where) {
  class cursor final : public row_cursor {
   public:
    cursor(const pipe& p, const settings& s, const char* terminal, call_site where)
        : run_(p, s, "rows", planner::reading::on_demand, {}, terminal, where, true),
          rows_(run_.read([&] { return run_.hands_on() ? nullptr : opened(); })) {
      run_.pause();
    }
    // The reader's body between two rows may be slow: it gets a few rows at a time, with a look before each such run. The look
    // is a load; the session's deadline_watch reads the clock.
    bool next(row_block& b) override {
      const stop_state& stop = run_.watch.flag->state();
      if (stop.stopped_now.load(std::memory_order_relaxed)) run_.placed([&] { throw_stopped(stop); });
      if (given_ == block_.n) {
        block_ = {};
        given_ = 0;
        const bool more = run_.read([&] { return next_block(); }, handed_out_);
        run_.pause();
        if (!more) {
          finished();
          return false;
        }
        handed_out_ = true;
        run_.gave(block_.n);
      }
      b = block_;
      b.rows = static_cast<std::byte*>(block_.rows) + given_ * run_.last->row->size;
      b.n = std::min(calls_a_look, block_.n - given_);
      b.first = block_.first + given_;
      given_ += b.n;
      return true;
    }
    void finished() override { run_.meter.finished(); }

   private:
    std::unique_ptr<row_cursor> opened() {
      return run_.session->cpu->open(run_.graph->result, run_.graph->captures, run_.context);
    }
    bool next_block() {
      if (run_.hands_on()) return next_handed_on();
      if (!rows_) rows_ = opened();
      try {
        return rows_->next(block_);
      } catch (const runtime::rows_lost&) {
        rows_.reset();  // a second run gives others
        throw;
      }
    }
    bool next_handed_on() {
      for (;;) {
        try {
          if (rows_ && rows_->next(block_)) {
            block_.first += before_;
            of_table_ += block_.n;
            return true;
          }
        } catch (const runtime::rows_lost&) {
          rows_.reset();  // as above
          before_ = of_table_ = 0;
          throw;
        }
        rows_.reset();
        before_ += std::exchange(of_table_, 0);
        if (!run_.next_rows()) return false;
        rows_ = opened();
      }
    }
    execution run_;
    std::unique_ptr<row_cursor> rows_;
    std::uint64_t before_ = 0, of_table_ = 0;  // rows of tables that were handed on earlier, and of this one
    bool handed_out_ = false;
    row_block block_;
    std::size_t given_ = 0;  // rows of the block
  };
  return std::make_unique<cursor>(p, s, terminal, where);
}

void run_single(const pipe& p, const settings& s, void* to) {
  execution e(p, s, "value", planner::reading::whole);
  const table t = e.read([&] { return e.session->cpu->collect(e.graph->result, e.graph->captures, e.context); });
  e.gave(t.n);
  if (t.n != 1) throw internal_error("query: a value's query gave " + std::to_string(t.n) + " rows");
  if (t.type->trivial) std::memcpy(to, t.rows, t.type->size);
  else e.placed([&] { runtime::copy_rows_with_lists(*t.type, to, t.rows, 1); });
  e.finished();
}

namespace {
// What the last run of the same verb did; of another verb where that ran the same vertices.
void tell_last_run(planner::machine_graph& g, const logical& last, const session_state& session) {
  const runtime::user_query user = runtime::user_query_of(last);
  const std::string terminal = g.terminal + user.added;
  auto run = session.history.profiles.of_terminal(*user.last, terminal);
  if (!run) run = session.history.profiles.last_of(*user.last, user.added);
  if (!run || !run->fits(g)) return;
  for (std::size_t i = 0; i < g.vertices.size(); ++i) {
    g.vertices[i]->ran = run->text_of(static_cast<int>(i));
    g.vertices[i]->observed = run->observed(static_cast<int>(i));
  }
  if (run->terminal() != terminal) return;
  g.result_ran = run->text_of(run->result());
  g.result_observed = run->observed(run->result());
}

// As that verb has it planned (rules know counts and sums by their names), shown under the user's name.
std::unique_ptr<planner::machine_graph> explained(const pipe& p, const settings& s, std::string_view terminal, call_site at) {
  const auto session = runtime::session_of(s);
  const runtime::terminal_plan t = runtime::terminal_plan_of(p, terminal, at);
  const char* runs = t.fold ? runtime::fold_names[static_cast<std::size_t>(*t.fold)] : "rows";
  planner::trace_memo traces;
  const auto known = runtime::known_query(t.pipe, s, *session, t.how, t.fold);
  const engine_choices::choice way = known ? session->history.ways.shown(*known) : engine_choices::choice{};
  auto graph = runtime::plan_query(traces, t.pipe, s, *session, runs, t.how, t.fold, way, runtime::plan_for::explain).graph;
  tell_last_run(*graph, *t.pipe.node, *session);
  graph->terminal = terminal;
  if (terminal == "for_each" && (session->options.checked || runtime::verifies(*session, s)))
    graph->notes.push_back("for_each: its function is called as compiled: values of optionals in it are unchecked");
  if (terminal == "for_each" && graph->partitions > 1 && graph->result.table)
    graph->notes.push_back(!runtime::verifies(*session, s) && planner::rows_come_in_pieces(*graph)
                               ? "for_each: takes rows in order, while other partitions still make theirs"
                               : "for_each: begins when all partitions have made their rows");
  return graph;
}
}  // namespace
bool checks_functions(const settings& s) {
  const auto session = runtime::session_of(s);
  return session->options.checked || session->options.interpret || runtime::verifies(*session, s);
}
std::string explain(const pipe& p, const settings& s, std::string_view terminal, call_site at) {
  const division_scope divisions(checks_functions(s));  // functions are traced, to be shown
  return planner::explain(*explained(p, s, terminal, at));
}
std::string explain_dot(const pipe& p, const settings& s, std::string_view terminal, call_site at) {
  const division_scope divisions(checks_functions(s));
  return planner::explain_dot(*explained(p, s, terminal, at));
}
std::string explain_json(const pipe& p, const settings& s, std::string_view terminal, call_site at) {
  const division_scope divisions(checks_functions(s));
  return planner::explain_json(*explained(p, s, terminal, at));
}
run_profile profile_of(const pipe& p, const settings& s) {
  const runtime::user_query user = runtime::user_query_of(*p.node);
  const auto run = runtime::session_of(s)->history.profiles.last_of(*user.last, user.added);
  return run ? run->shown() : run_profile{};
}
void explain_refused(std::string_view terminal, call_site at) { runtime::refuse_argument(terminal, at); }

void fetch_pages(void* at, std::size_t bytes, const settings& s) {
  constexpr std::uintptr_t huge = 2u << 20;
  const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(at) + huge - 1) / huge * huge;
  const std::uintptr_t to = (reinterpret_cast<std::uintptr_t>(at) + bytes) / huge * huge;
  if (from >= to) return;
  (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  // Refused by kernels before 5.14; then pages come as they are touched.
  constexpr std::uintptr_t part = 8 * huge;
  if (to - from < 4 * part) return;
  const stop_point stop;
  runtime::session_of(s)->scheduler->for_each((to - from + part - 1) / part, [&](std::size_t i) {
    stop.check();
    const std::uintptr_t begin = from + i * part;
    (void)::madvise(reinterpret_cast<void*>(begin), std::min(part, to - begin), MADV_POPULATE_WRITE);
  }, {});
#else
  (void)s;
#endif
}

std::string print_rows(const table& t, const pipe& p, std::uint64_t total, const print_options& options) {
  return data::print_table(t.type, t.rows, t.n, total, options, planner::column_names(*p.node));
}
std::string describe_rows(const pipe& p, const settings& s) {
  execution e(p, s, "", planner::reading::whole, {}, "describe", p.node->where);
  const auto columns = e.read([&] {
    const table t = e.session->cpu->collect(e.graph->result, e.graph->captures, e.context);
    e.gave(t.n);
    return data::summarise(t.type, t.rows, t.n, true, planner::column_names(*p.node));
  });
  e.finished();
  return data::print_summary(columns);
}

std::vector<std::size_t> sorted_positions(std::size_t n, function_ref<bool(std::size_t, std::size_t)> less) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  const stop_point stop;
  // As many comparisons as a merge sort of random keys takes; what is left after the sort, such as moving values, takes little.
  constexpr double share = 0.9;
  constexpr std::size_t a_report = 1 << 12;
  const double expected = static_cast<double>(n) * std::log2(static_cast<double>(n) + 1);
  std::size_t done = 0;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    stop.check();
    if (++done % a_report == 0)
      if (runtime::progress* const meter = runtime::progress::after_query)
        meter->part_is_at(share * std::min(1.0, static_cast<double>(done) / expected));
    return less(a, b);
  });
  return order;
}

}  // namespace query::detail

void query::verbs::print_text(const std::string& s) { std::fputs(s.c_str(), stdout); }
