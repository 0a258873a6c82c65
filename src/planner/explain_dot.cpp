// The machine graph for Graphviz: dot -Tsvg plan.dot. If there are several partitions, each stage is a box, and edges between boxes say how
// rows move from one stage to another.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/explain_text.hpp"
#include "planner/names.hpp"
#include "planner/stages.hpp"

namespace query::planner {

using detail::verb;

std::string dot_quoted(std::string_view s) {
  std::string q = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    if (c == '\n') q += "\\n";
    else q += c;
  }
  return q + '"';
}

namespace {

class writer {
 public:
  writer(text& to, const machine_graph& g) : to_(to), g_(g), names_(g), stages_(g) {}

  void write() {
    vertices({g_.top.begin(), g_.top.end()}, 1, true);
    rows(g_.result, "result");
    captures(g_.captures, "result");
    for (const auto& [from, source] : sources_) to_.line(1, source + " [label=" + dot_quoted(source_text(*from)) + ", shape=cylinder];");
    for (const std::string& e : edges_) to_.line(1, e);
  }

 private:
  std::string id_of(const vertex& v) const { return names_.number(v); }

  // In the graph of a cluster, puts the vertices of each stage into a box. A stage that is partly inside a loop has two boxes.
  void vertices(const std::vector<const vertex*>& all, int depth, bool with_result = false) {
    if (g_.partitions == 1) {
      for (const vertex* v : all) write(*v, depth);
      if (with_result) result(depth);
      return;
    }
    std::map<std::size_t, std::vector<const vertex*>> of_stages;
    for (const vertex* v : all) of_stages[stages_.of(*v)].push_back(v);
    if (with_result) of_stages[stages_.of_result()];
    for (const auto& [stage, list] : of_stages) {
      const bool ends_here = with_result && stage == stages_.of_result();
      int partitions = ends_here ? g_.result_partitions : 1;
      for (const vertex* v : list) partitions = std::max(partitions, v->partitions);
      to_.line(depth, "subgraph cluster_stage" + std::to_string(++boxes_) + " {");
      to_.line(depth + 1, "label=" + dot_quoted("stage " + std::to_string(stage + 1) + ", " + in_partitions(partitions)) +
                              "; fontname=\"sans-serif\"; style=\"rounded,filled\"; fillcolor=\"#f4f4f4\";");
      for (const vertex* v : list) write(*v, depth + 1);
      if (ends_here) result(depth + 1);
      to_.line(depth, "}");
    }
  }
  static std::string in_partitions(int n) { return n == 1 ? "in one partition" : "in " + std::to_string(n) + " partitions"; }

  void write(const vertex& v, int depth) {
    if (v.node && v.node->what == verb::do_while) {
      to_.line(depth, "subgraph cluster_" + id_of(v) + " {");
      to_.line(depth + 1, "label=" + dot_quoted("each round of " + id_of(v)) + "; style=dashed;");
      vertices({v.body.begin(), v.body.end()}, depth + 1);
      vertices({v.test.begin(), v.test.end()}, depth + 1);
      to_.line(depth, "}");
      if (v.body_result.table) edge(*v.body_result.table, id_of(v), "rows of a round", "dashed");
      if (v.test_result.table) edge(*v.test_result.table, id_of(v), "goes on while", "dashed");
    }
    std::string label = id_of(v) + " " + names_.verb(v) + "\n" + v.engine;
    if (v.limit != ~0ull) label += "\nfirst " + std::to_string(v.limit) + " rows";
    if (!v.ran.empty()) label += "\n" + v.ran;
    to_.line(depth, id_of(v) + " [label=" + dot_quoted(label) + (v.moves ? ", shape=cds" : "") + "];");
    for (const branch& b : v.inputs) rows(b, id_of(v));
    captures(v.captures, id_of(v));
  }
  void result(int depth) {
    std::string label = g_.terminal.empty() ? "result" : g_.terminal;
    if (!g_.result_ran.empty()) label += "\n" + g_.result_ran;
    to_.line(depth, "result [label=" + dot_quoted(label) + ", shape=ellipse];");
  }

  void edge(const std::string& from, const std::string& to, const std::string& label, const std::string& style = "solid") {
    edges_.push_back(from + " -> " + to + " [label=" + dot_quoted(label) + ", style=" + style + "];");
  }
  // If rows change their partition, the label first says how, and then what the rows are used for.
  void edge(const vertex& from, const std::string& to, const std::string& label, const std::string& style = "solid") {
    if (!from.moves) return edge(id_of(from), to, label, style);
    const std::string way(name_of(*from.moves));
    edges_.push_back(id_of(from) + " -> " + to + " [label=" + dot_quoted(label.empty() ? way : way + "\n" + label) + ", style=" + style +
                     ", penwidth=2, color=\"#b03020\", fontcolor=\"#b03020\"];");
  }
  std::string source(const logical& n) {
    const auto [at, is_new] = source_ids_.emplace(&n, "s" + std::to_string(sources_.size() + 1));
    if (is_new) sources_.emplace_back(&n, at->second);
    return at->second;
  }
  void rows(const branch& b, const std::string& reader) {
    std::string label;
    for (const prefilter& f : b.prefilters) label += "prefilter " + shown(f.expression ? f.expression : f.function->trace()) + "\n";
    for (const stage& s : b.stages) {
      if (s.what == stage::kind::rowwise) {
        label += verbs_text(s) + "\n";
        continue;
      }
      label += "probe " + s.join->label + "\n";
      edge(*s.build, reader, "hash table of " + s.join->label, "bold");
    }
    if (b.table) edge(*b.table, reader, label);
    else edge(source(*b.source), reader, label);
  }
  void captures(const std::vector<binding>& list, const std::string& reader) {
    for (const binding& c : list) edge(*c.table, reader, "captured", "dotted");
  }

  text& to_;
  const machine_graph& g_;
  const vertex_names names_;
  const cluster_stages stages_;
  int boxes_ = 0;
  std::vector<std::pair<const logical*, std::string>> sources_;  // in the order in which they are met
  std::unordered_map<const logical*, std::string> source_ids_;
  std::vector<std::string> edges_;
};

}  // namespace

std::string explain_dot(const machine_graph& g) {
  text t;
  t.line(0, "digraph query {");
  t.line(1, "rankdir=BT; node [shape=box, fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=10];");
  writer(t, g).write();
  t.line(0, "}");
  return t.take();
}

}  // namespace query::planner
