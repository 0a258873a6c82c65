// Terminal verbs: plan, run the vertices, then serve the result in the way that was asked for.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include <query/csv.hpp>
#include <query/errors.hpp>
#include <query/lookup.hpp>
#include <query/verbs/terminals.hpp>

#include "data/csv_writer.hpp"
#include "data/file_source.hpp"
#include "data/summarise.hpp"
#include "data/table_print.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/executor.hpp"
#include "runtime/session_state.hpp"

namespace query::detail {

namespace {

using runtime::session_state;

std::shared_ptr<session_state> session_of(const settings& s) { return s && s->session ? s->session : Session::standard().state(); }

bool verifies(const session_state& session, const settings& s) { return session.options.verify || (s && s->verify); }

planner::plan_options options_of(const session_state& s, const settings& of_query) {
  planner::plan_options o;
  o.interpret = s.options.interpret;
  o.verify = verifies(s, of_query);
  o.separate_result = !s.engines.empty();
  return o;
}

// A user's own kind of stop token, polled by a flag of ours.
class stop_watch {
 public:
  explicit stop_watch(const settings& s) : flag(token(s), deadline(s)) {
    if (s && s->stop_requested) {
      watcher_ = std::jthread([this, s](std::stop_token ended) {
        while (!ended.stop_requested()) {
          if (s->stop_requested(s->stop_token.get())) {
            flag.cancel();
            return;
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      });
      if (s->stop_requested(s->stop_token.get())) flag.cancel();
    }
  }
  runtime::cancel_flag flag;

 private:
  static std::stop_token token(const settings&) { return {}; }
  static std::optional<runtime::cancel_flag::clock::time_point> deadline(const settings& s) {
    if (!s || s->seconds <= 0) return std::nullopt;
    return runtime::cancel_flag::clock::now() + std::chrono::duration_cast<runtime::cancel_flag::clock::duration>(std::chrono::duration<double>(s->seconds));
  }
  std::jthread watcher_;
};

// One execution of one plan, with its tables.
class execution {
 public:
  execution(const pipe& p, const settings& s, std::string terminal)
      : session(session_of(s)), watch(s), meter(s), graph(planner::make_machine_graph(p, std::move(terminal), options_of(*session, s))),
        context{*session->scheduler, session->pool, watch.flag} {
    context.verify = verifies(*session, s);
    runtime::place(*graph, *session);
    meter.expect(graph->top.size() + 1);
    context.progress = &meter;
    runtime::executor(*graph, *session, context).run_vertices();
    if (context.verify) session->cpu->verify(graph->result, graph->captures, context);
  }
  std::shared_ptr<session_state> session;
  stop_watch watch;
  runtime::progress meter;
  std::unique_ptr<planner::machine_graph> graph;
  runtime::run_context context;
};

}  // namespace

table materialise(const pipe& p, const settings& s) {
  execution e(p, s, "");
  table t = e.session->cpu->collect(e.graph->result, e.graph->captures, e.context);
  e.meter.finished();
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
  execution e(p, s, "rows");
  e.session->cpu->stream(e.graph->result, e.graph->captures, expected, take, e.context);
  e.meter.finished();
}

std::unique_ptr<row_cursor> open_cursor(const pipe& p, const settings& s) {
  class cursor final : public row_cursor {
   public:
    cursor(const pipe& p, const settings& s)
        : run_(p, s, "rows"), rows_(run_.session->cpu->open(run_.graph->result, run_.graph->captures, run_.context)) {}
    bool next(row_block& b) override { return rows_->next(b); }

   private:
    execution run_;
    std::unique_ptr<row_cursor> rows_;
  };
  return std::make_unique<cursor>(p, s);
}

void fold(const pipe& p, const settings& s, fold_kind k, fold_state& state) {
  constexpr const char* names[] = {"count", "sum", "min", "max"};
  execution e(p, s, names[static_cast<int>(k)]);
  e.session->cpu->fold(e.graph->result, e.graph->captures, k, state, e.context);
  e.meter.finished();
}

void run_single(const pipe& p, const settings& s, void* to) {
  execution e(p, s, "value");
  const table t = e.session->cpu->collect(e.graph->result, e.graph->captures, e.context);
  e.meter.finished();
  if (t.n != 1) throw internal_error("query: a value's query gave " + std::to_string(t.n) + " rows");
  if (t.type->trivial) std::memcpy(to, t.rows, t.type->size);
  else t.type->life.copy(to, t.rows, 1);
}

std::string explain(const pipe& p, const settings& s, std::string_view terminal) {
  const auto session = session_of(s);
  auto g = planner::make_machine_graph(p, std::string(terminal), options_of(*session, s));
  runtime::place(*g, *session);
  return planner::explain(*g);
}
std::string explain_dot(const pipe& p, const settings& s) {
  const auto session = session_of(s);
  auto g = planner::make_machine_graph(p, "", options_of(*session, s));
  runtime::place(*g, *session);
  return planner::explain_dot(*g);
}

void advise_huge_pages(void* at, std::size_t bytes) {
  constexpr std::uintptr_t huge = 2u << 20;
  const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(at) + huge - 1) / huge * huge;
  const std::uintptr_t to = (reinterpret_cast<std::uintptr_t>(at) + bytes) / huge * huge;
  if (from < to) (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

std::string print_rows(const table& t, std::uint64_t total, const print_options& options) { return data::print_table(t.type, t.rows, t.n, total, options); }
std::string describe_rows(const table& t) {
  const auto columns = data::summarise(t.type, t.rows, t.n);
  return data::print_summary(columns);
}

void write_csv_file(const pipe& p, const settings& s, const std::string& path, const void* options) {
  data::csv_writer writer(path, *static_cast<const csv_options*>(options), p.node->row);
  stream(p, s, [](std::uint64_t) {}, [&](const row_block& b) {
    writer.write(b.rows, b.n);
    return true;
  });
  writer.finish();
}

std::shared_ptr<const logical> csv_source(const std::string& path, const void* options, const ir::type* row, call_site where) {
  auto n = std::make_shared<logical>();
  n->what = verb::source_file;
  n->label = "read_csv(\"" + path.substr(path.rfind('/') + 1) + "\")";
  n->row = row;
  n->where = where;
  n->options = std::make_shared<const data::file_source>(data::file_source{path, *static_cast<const csv_options*>(options)});
  return n;
}

std::vector<std::size_t> sorted_positions(std::size_t n, function_ref<bool(std::size_t, std::size_t)> less) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return less(a, b); });
  return order;
}

}  // namespace query::detail

void query::verbs::print_text(const std::string& s) { std::fputs(s.c_str(), stdout); }
