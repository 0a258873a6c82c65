// The three graphs as JSON, for programs. The same words as in explain(), and numbers where there are some.
//
//   {"format": 1, "terminal": "sum",
//    "cluster_graph": {"partitions": 4, "stages": [...], "exchanges": [...]},
//    "machine_graph": {"vertices": [...], "result": {...}},
//    "gpu_graph": {"vertices": [...], "edges": [...], "loops": [...]}}
#include <algorithm>
#include <set>

#include <query/detail/asof_options.hpp>
#include <query/profile.hpp>

#include "planner/explain_text.hpp"
#include "planner/json_text.hpp"
#include "planner/names.hpp"
#include "planner/stages.hpp"

namespace query::planner {

using detail::verb;

namespace {

bool is_loop(const vertex& v) { return v.node && v.node->what == verb::do_while; }
bool uses_gpu(const vertex& v) { return engine_of_forms(v.engine, v.shares) != "cpu"; }

// Rows of a source that is there; nothing where nobody has counted them.
std::optional<std::uint64_t> rows_of(const logical& source) {
  if (source.what == verb::source_stream && source.count) return source.count;
  if ((source.what != verb::source_rows && source.what != verb::source_columns) || !source.view || source.options) return std::nullopt;
  detail::row_block rows;
  source.view(source.source.get(), rows);
  return rows.n;
}

class writer {
 public:
  explicit writer(const machine_graph& g) : g_(g), names_(g), stages_(g) {
    for (const auto& v : g.vertices) place(*v);
    std::sort(in_order_.begin(), in_order_.end(), [&](const vertex* a, const vertex* b) { return number(*a) < number(*b); });
    of_stage_.resize(stages_.count());
    for (const vertex* v : in_order_) {
      of_stage_[stages_.of(*v)].push_back(v);
      each_table_of(*v, [&](const vertex& table) { readers_[&table].insert(stages_.of(*v)); });
    }
    each_table_of(g, [&](const vertex& table) { readers_[&table].insert(stages_.of_result()); });
  }

  std::string written() {
    j_.object("", [&] {
      j_.member("format", 1);
      j_.member("terminal", g_.terminal);
      j_.object("cluster_graph", [&] { cluster_graph(); });
      j_.object("machine_graph", [&] { machine_graph_of(); });
      j_.object("gpu_graph", [&] { gpu_graph(); });
    });
    return j_.take();
  }

 private:
  void place(const vertex& v) {
    if (number(v)) in_order_.push_back(&v);
    for (const auto* list : {&v.body, &v.test})
      for (const vertex* w : *list) loops_[w] = &v;
  }
  std::string name(const vertex& v) const { return names_.number(v); }
  int number(const vertex& v) const {
    const std::string n = name(v);
    return n == "v?" ? 0 : std::stoi(n.substr(1));
  }
  static std::string stage_name(std::size_t n) { return "s" + std::to_string(n + 1); }

  // ---------------------------------------------------------------- cluster
  void cluster_graph() {
    j_.member("partitions", g_.partitions);
    j_.member_if("processes", g_.processes);
    j_.member_if("transport", g_.transport);
    j_.list("stages", [&] {
      for (std::size_t s = 0; s < stages_.count(); ++s) stage_of_cluster(s);
    });
    j_.list("exchanges", [&] {
      for (const vertex* v : in_order_)
        if (v->moves) exchange_of(*v);
    });
  }
  void stage_of_cluster(std::size_t s) {
    const bool result = s == stages_.of_result();
    int partitions = result ? g_.result_partitions : 1;
    for (const vertex* v : of_stage_[s]) partitions = std::max(partitions, v->partitions);
    j_.object("", [&] {
      j_.member("name", stage_name(s));
      j_.member("partitions", partitions);
      j_.list("vertices", [&] {
        for (const vertex* v : of_stage_[s]) j_.element(name(*v));
        if (result) j_.element("result");
      });
    });
  }
  void exchange_of(const vertex& x) {
    j_.object("", [&] {
      j_.member("vertex", name(x));
      j_.member("kind", name_of(*x.moves));
      j_.member("sends", sends_states(x) ? "states of groups" : "rows");
      j_.member("from", stage_name(stages_.of(x)));
      j_.list("to", [&] {
        for (const std::size_t s : readers_[&x]) j_.element(stage_name(s));
      });
      if (x.probing && x.probing->partitions > 1)
        j_.object("revised_if_small", [&] {
          j_.member("kind", name_of(exchange::broadcast));
          j_.member("stays", name(*x.probing));
        });
      if (x.probing) j_.member("sent_to_all_for_heavy_keys_of", name(*x.probing));
    });
  }

  // ---------------------------------------------------------------- machine
  void machine_graph_of() {
    j_.list("vertices", [&] {
      for (const vertex* v : in_order_) j_.object("", [&] { write(*v); });
    });
    j_.object("result", [&] {
      j_.member("engine", g_.result_engine);
      j_.member("partitions", g_.result_partitions);
      j_.list("reads", [&] { rows(g_.result, g_.result_engine); });
      captures(g_.captures);
      notes(g_.notes);
      observed(g_.result_observed.get());
    });
  }
  void write(const vertex& v) {
    j_.member("name", name(v));
    j_.member("verb", names_.verb(v));
    if (v.node && v.node->where.line) j_.member("at", place_of(v.node->where));
    j_.member("engine", v.engine);
    j_.member_if("why", v.why);
    j_.member("partitions", v.partitions);
    if (const auto in = loops_.find(&v); in != loops_.end()) j_.member("loop", name(*in->second));
    depends_on(v);
    j_.list("reads", [&] {
      for (const branch& b : v.inputs) rows(b, engine_of_forms(v.engine, v.shares));
    });
    captures(v.captures);
    j_.member_if("columns", wanted_text(v.row(), v.wanted));
    if (v.limit != ~0ull) j_.member("limit", v.limit);
    if (v.streamed) j_.member("streamed", true);
    if (v.in_place) j_.member("in_place", true);
    if (is_loop(v)) loop(v);
    expected(v);
    notes(v.notes);
    observed(v.observed.get());
  }
  // What has to have run before: vertices that do not depend on each other may run in any order.
  void depends_on(const vertex& v) {
    std::set<int> all;
    each_table_of(v, [&](const vertex& table) { all.insert(number(table)); });
    j_.list("depends_on", [&] {
      for (const int n : all) j_.element("v" + std::to_string(n));
    });
  }
  void rows(const branch& b, const std::string& engine) {
    if (!b.table && !b.source) return;
    j_.object("", [&] {
      if (b.table) {
        j_.member("table", name(*b.table));
      } else {
        j_.member("source", source_text(*b.source));
        if (const auto n = rows_of(*b.source)) j_.member("expected_rows", *n);
        j_.member_if("columns", wanted_text(b.source->row, b.wanted));
      }
      if (!b.prefilters.empty())
        j_.list("prefilters", [&] {
          for (const prefilter& f : b.prefilters) j_.element(shown(f.expression ? f.expression : f.function->trace()));
        });
      j_.list("stages", [&] {
        for (const stage& s : b.stages) j_.object("", [&] { stage_of(s, engine); });
      });
    });
  }
  void stage_of(const stage& s, const std::string& engine) {
    if (s.what == stage::kind::rowwise) {
      j_.member("verbs", verbs_text(s));
      j_.member("form", form_text(s, engine));
      return;
    }
    j_.member("join", s.join->label);
    if (s.join->where.line) j_.member("at", place_of(s.join->where));
    j_.member("probes", name(*s.build));
    j_.member(detail::asof_of(*s.join) ? "nearest_times_of" : "hash_table_of", s.build_left ? "left" : "right");
  }
  void captures(const std::vector<binding>& list) {
    if (list.empty()) return;
    j_.list("captures", [&] {
      for (const binding& c : list) j_.element(name(*c.table));
    });
  }
  void loop(const vertex& v) {
    const auto all = [&](std::string_view what, const auto& list) {
      if (list.empty()) return;
      j_.list(what, [&] {
        for (const vertex* w : list) j_.element(name(*w));
      });
    };
    j_.object("rounds", [&] {
      all("body", v.body);
      if (v.body_result.table) j_.member("gives", name(*v.body_result.table));
      all("condition", v.test);
      if (v.test_result.table) j_.member("asks", name(*v.test_result.table));
      if (v.node->count) j_.member("times", v.node->count);
      all("computed_once", v.kept_for_rounds);
      j_.member_if("checkpoint", v.node->checkpoint);
    });
  }
  void expected(const vertex& v) {
    if (!v.expected && v.shares.empty()) return;
    j_.object("expected", [&] {
      if (v.expected) {
        j_.member("seconds_on_cpu", v.expected->cpu);
        j_.member("seconds_on_other", v.expected->there);
      }
      if (!v.shares.empty())
        j_.list("shares", [&] {
          for (const engine_share& s : v.shares)
            j_.object("", [&] {
              j_.member("engine", s.engine);
              j_.member("share", s.share);
              j_.member("threads", s.threads);
            });
        });
    });
  }
  void notes(const std::vector<std::string>& list) {
    if (list.empty()) return;
    j_.list("notes", [&] {
      for (const std::string& n : list) j_.element(n);
    });
  }
  void observed(const vertex_profile* p) {
    if (!p) return;
    j_.object("observed", [&] {
      j_.member("engine", p->engine);
      j_.member("seconds", p->seconds);
      j_.member("busy_seconds", p->busy_seconds);
      j_.member("threads", p->threads);
      j_.member("rows_in", p->rows_in);
      j_.member("rows_out", p->rows_out);
      j_.member("bytes_out", p->bytes_out);
      j_.member("morsels", p->morsels);
      j_.member("peak_bytes", p->peak_bytes);
      j_.member("spilled_bytes", p->spilled_bytes);
      if (p->rounds) j_.member("rounds", p->rounds);
    });
  }

  // ---------------------------------------------------------------- GPU
  // Rows between two vertices that run there do not cross the bus.
  void gpu_graph() {
    j_.list("vertices", [&] {
      for (const vertex* v : in_order_)
        if (uses_gpu(*v)) j_.element(name(*v));
    });
    j_.list("edges", [&] {
      for (const vertex* v : in_order_) {
        std::set<int> met;
        each_table_of(*v, [&](const vertex& table) {
          if ((uses_gpu(*v) || uses_gpu(table)) && !is_loop(*v) && met.insert(number(table)).second)
            edge(name(table), name(*v), uses_gpu(*v) && uses_gpu(table));
        });
        if (!uses_gpu(*v) || is_loop(*v)) continue;
        for (const branch& b : v->inputs)
          if (b.source && b.source->what != verb::placeholder) edge(source_text(*b.source), name(*v), false);
      }
      each_table_of(g_, [&](const vertex& table) {
        if (uses_gpu(table) || g_.result_engine != "cpu") edge(name(table), "result", uses_gpu(table) && g_.result_engine != "cpu");
      });
    });
    j_.list("loops", [&] {
      for (const vertex* v : in_order_)
        if (is_loop(*v) && std::any_of(v->body.begin(), v->body.end(), [](const vertex* w) { return uses_gpu(*w); }))
          j_.object("", [&] { gpu_loop(*v); });
    });
  }
  void edge(const std::string& from, const std::string& to, bool there) {
    j_.object("", [&] {
      j_.member("from", from);
      j_.member("to", to);
      j_.member("over", there ? "device memory" : "bus");
    });
  }
  void gpu_loop(const vertex& v) {
    const auto there = [](const std::vector<vertex*>& list) {
      return std::all_of(list.begin(), list.end(), [](const vertex* w) { return w->engine == "gpu" && !is_loop(*w); });
    };
    const bool repeats = v.node->checkpoint.empty() && !v.node->loop_test && there(v.body) && there(v.test);
    j_.member("vertex", name(v));
    j_.member("repeats_rounds_as_graphs", repeats);
    if (!repeats) j_.member("why_not", v.node->checkpoint.empty() ? "a part of a round runs elsewhere" : "the loop has a checkpoint");
  }

  const machine_graph& g_;
  const vertex_names names_;
  const cluster_stages stages_;
  std::vector<const vertex*> in_order_;                               // of their numbers
  std::vector<std::vector<const vertex*>> of_stage_;
  std::unordered_map<const vertex*, std::set<std::size_t>> readers_;  // stages
  std::unordered_map<const vertex*, const vertex*> loops_;  // around
  json_text j_;
};

}  // namespace

std::string explain_json(const machine_graph& g) { return writer(g).written(); }

}  // namespace query::planner
