// The machine graph as text: what runs, in which order, where and why.
//
//   machine graph
//     v1 order_by_descending                       cpu
//       reads vector of Trade
//         where, select: native, branch-free
//       limit: the first 10 rows
//       top_k: take(10) @plan.cpp:14 over order_by_descending @plan.cpp:13, the best 10 rows are kept
#include <algorithm>

#include <query/detail/asof_options.hpp>
#include <query/detail/together.hpp>

#include "planner/explain_text.hpp"
#include "planner/join_condition.hpp"
#include "planner/names.hpp"

namespace query::planner {

using detail::verb;

namespace {

class writer {
 public:
  writer(text& to, const machine_graph& g) : to_(to), names_(g), no_gpu_(g.no_gpu), all_(g.partitions) {}

  void write(const vertex& v, int depth) {
    std::string engine = v.engine + in_partitions(v.partitions);
    if (!v.why.empty()) engine += ": " + once(v.why);
    const bool together = v.node && detail::are_together(*v.node);
    to_.line(depth, number(v) + " " + names_.verb(v) + form_of(v), together ? "" : engine);
    for (const branch& b : v.inputs)
      if (!together) rows(b, engine_of_forms(v.engine, v.shares), depth + 1);
    if (together) queries(v.captures, depth + 1);
    else captures(v.captures, depth + 1);
    if (v.node && v.node->has_own_equality()) to_.line(depth + 1, "keys: by the user's own equality and hash");
    if (v.node && v.node->has_own_order()) to_.line(depth + 1, "keys: in the user's own order");
    if (const std::string w = wanted_text(v.row(), v.wanted); !w.empty()) to_.line(depth + 1, "columns: " + w);
    if (v.node && v.engine == "cpu" && has_condition(*v.node)) to_.line(depth + 1, text_of(take_apart(v.node->functions.front())));
    if (const std::string_view side = own_table_of(v); !side.empty()) to_.line(depth + 1, "hash table of " + std::string(side));
    if (const std::string joins = names_.hash_tables_of(v); !joins.empty()) to_.line(depth + 1, "hash table of " + joins);
    if (v.limit != ~0ull) to_.line(depth + 1, "limit: the first " + std::to_string(v.limit) + " rows");
    if (v.in_place) to_.line(depth + 1, "in place: its reader takes the source's columns");
    if (v.streamed) to_.line(depth + 1, "streamed: its reader takes the rows as they come");
    loop(v, depth + 1);
    for (const std::string& n : v.notes) to_.line(depth + 1, n);
    if (!v.ran.empty()) to_.line(depth + 1, v.ran);
    if (v.kept_for_rounds.empty()) return;
    std::string kept;
    for (const vertex* w : v.kept_for_rounds) kept += (kept.empty() ? "" : ", ") + number(*w);
    to_.line(depth + 1, "hoist_invariants: " + kept + " computed once, kept for all rounds");
  }
  void result(const machine_graph& g) {
    to_.line(1, g.terminal.empty() ? "result" : "result, for " + g.terminal,
             (g.root.node->accelerated ? "cpu: the caller reads these rows" : "cpu") + in_partitions(g.result_partitions));
    rows(g.result, g.result_engine, 2);
    captures(g.captures, 2);
    for (const std::string& n : g.notes) to_.line(2, once(n));
    if (!g.result_ran.empty()) to_.line(2, g.result_ran);
  }

 private:
  // Of a vertex that the CPU runs: what it looks keys up in.
  static std::string_view own_table_of(const vertex& v) {
    using detail::verb;
    if (v.engine != "cpu" || v.moves || !v.node || v.inputs.size() < 2) return {};
    switch (v.node->what) {
      case verb::join:
      case verb::group_join: return "its right side, which the left side probes";
      case verb::intersect:
      case verb::except: return "the keys of its right side, which the left side probes";
      case verb::union_with: return v.inputs.size() == 2 ? "the keys of both sides" : "the keys of all sides";
      default: return {};
    }
  }
  // Why there is no GPU is the same for all, and long: said in full where it is said first.
  std::string once(std::string words) {
    if (no_gpu_.empty() || !words.ends_with(no_gpu_)) return words;
    if (!no_gpu_said_) {
      no_gpu_said_ = true;
      return words;
    }
    words.resize(words.size() - no_gpu_.size());
    return words + "no GPU, as above";
  }
  void rows(const branch& b, const std::string& engine, int depth) {
    to_.line(depth, "reads " + (b.table ? number(*b.table) : source_text(*b.source)));
    if (b.source && b.source->what == detail::verb::source_columns)
      if (const std::string w = wanted_text(b.source->row, b.wanted); !w.empty()) to_.line(depth + 1, "columns: " + w);
    for (const prefilter& f : b.prefilters)
      to_.line(depth + 1,
               "prefilter " + shown(f.expression ? f.expression : f.function->trace()) +
                   (engine == "gpu" ? ": generated" : f.expression || f.interpreted ? ": interpreted" : ": native"),
               "of " + verb_of(*f.from) + " @" + place_of(f.from->where));
    for (const stage& s : b.stages)
      to_.line(depth + 1, s.what == stage::kind::probe ? probe(s, engine) : verbs_text(s) + ": " + form_text(s, engine));
  }
  // Of several; what runs in one of them says so, too.
  std::string in_partitions(int n) const {
    if (all_ == 1) return "";
    return n == 1 ? ", in one partition" : ", in " + std::to_string(n) + " partitions";
  }
  std::string number(const vertex& v) const { return names_.number(v); }
  static std::string form_of(const vertex& v) {
    if (v.engine == "gpu") return "";
    return v.gives_columns ? ", over columns to columns" : v.over_columns ? ", over columns" : v.interpreted ? ", interpreted" : "";
  }
  std::string probe(const stage& s, const std::string& engine) const {
    return s.join->label + (detail::asof_of(*s.join) ? ": looks up the nearest times of its " : ": probes the hash table of its ") +
           (s.build_left ? "left" : "right") + " side, " + number(*s.build) +
           (s.join->has_own_equality() ? ", by the user's own equality" : "") + (engine == "gpu" ? "" : forms(s));
  }
  // Of a probe's functions, in sessions that interpret or check.
  static std::string forms(const stage& s) {
    std::string all = s.how == form::interpreted ? ", interpreted" : s.how == form::columns ? ", over columns" : "";
    const char* how = s.checks ? " compiled, optionals unchecked: " : " natively: ";
    for (std::size_t i = 0; i < s.native_because.size(); ++i)
      if (!s.native_because[i].empty()) all += "; " + std::string(s.join->functions[i].role) + how + s.native_because[i];
    return all;
  }
  void captures(const std::vector<binding>& list, int depth) {
    for (const binding& c : list) to_.line(depth, "captures the rows of " + number(*c.table));
  }
  void queries(const std::vector<binding>& list, int depth) {
    int i = 0;
    for (const binding& c : list) to_.line(depth, "query " + std::to_string(++i) + ": the rows of " + number(*c.table));
  }
  void loop(const vertex& v, int depth) {
    if (!v.node || v.node->what != verb::do_while) return;
    to_.line(depth, "each round:");
    for (const vertex* w : v.body) write(*w, depth + 1);
    if (v.body_result.table) to_.line(depth + 1, "gives " + number(*v.body_result.table));
    if (!v.test_result.table) return;
    to_.line(depth, "goes on while:");
    for (const vertex* w : v.test) write(*w, depth + 1);
    to_.line(depth + 1, "asks " + number(*v.test_result.table));
  }

  text& to_;
  const vertex_names names_;
  const std::string& no_gpu_;
  const int all_;
  bool no_gpu_said_ = false;
};

}  // namespace

void explain_machine(const machine_graph& g, text& to) {
  const std::string parts =
      std::to_string(g.partitions) +
      (g.processes.empty() ? " partitions in this process" : " partitions, in processes of " + g.processes + ",");
  to.line(0, g.partitions == 1 ? "machine graph" : "cluster graph: each of " + parts + " runs the machine graph");
  if (!g.transport.empty()) to.line(1, "rows change process by " + g.transport);
  writer w(to, g);
  for (const vertex* v : g.top) w.write(*v, 1);
  w.result(g);
}

}  // namespace query::planner
