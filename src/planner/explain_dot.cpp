// The machine graph for Graphviz: dot -Tsvg plan.dot
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/explain_text.hpp"
#include "planner/names.hpp"

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
  writer(text& to, const machine_graph& g) : to_(to), names_(g), all_(g.partitions) {}

  void write(const vertex& v, int depth) {
    if (v.node && v.node->what == verb::do_while) {
      to_.line(depth, "subgraph cluster_" + id_of(v) + " {");
      to_.line(depth + 1, "label=" + dot_quoted("each round of " + id_of(v)) + "; style=dashed;");
      for (const vertex* w : v.body) write(*w, depth + 1);
      for (const vertex* w : v.test) write(*w, depth + 1);
      to_.line(depth, "}");
      if (v.body_result.table) edge(id_of(*v.body_result.table), id_of(v), "rows of a round", "dashed");
      if (v.test_result.table) edge(id_of(*v.test_result.table), id_of(v), "goes on while", "dashed");
    }
    std::string label = id_of(v) + " " + names_.verb(v) + "\n" + v.engine;
    if (all_ > 1) label += v.partitions == 1 ? ", in one partition" : ", in " + std::to_string(v.partitions) + " partitions";
    if (v.limit != ~0ull) label += "\nfirst " + std::to_string(v.limit) + " rows";
    if (!v.ran.empty()) label += "\n" + v.ran;
    to_.line(depth, id_of(v) + " [label=" + dot_quoted(label) + "];");
    for (const branch& b : v.inputs) rows(b, id_of(v));
    captures(v.captures, id_of(v));
  }
  void result(const machine_graph& g) {
    std::string label = g.terminal.empty() ? "result" : g.terminal;
    if (!g.result_ran.empty()) label += "\n" + g.result_ran;
    to_.line(1, "result [label=" + dot_quoted(label) + ", shape=ellipse];");
    rows(g.result, "result");
    captures(g.captures, "result");
    for (const auto& [from, source] : sources_) to_.line(1, source + " [label=" + dot_quoted(source_text(*from)) + ", shape=cylinder];");
    for (const std::string& e : edges_) to_.line(1, e);
  }

 private:
  std::string id_of(const vertex& v) const { return names_.number(v); }
  void edge(const std::string& from, const std::string& to, const std::string& label, const std::string& style = "solid") {
    edges_.push_back(from + " -> " + to + " [label=" + dot_quoted(label) + ", style=" + style + "];");
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
      edge(id_of(*s.build), reader, "hash table of " + s.join->label, "bold");
    }
    edge(b.table ? id_of(*b.table) : source(*b.source), reader, label);
  }
  void captures(const std::vector<binding>& list, const std::string& reader) {
    for (const binding& c : list) edge(id_of(*c.table), reader, "captured", "dotted");
  }

  text& to_;
  const vertex_names names_;
  const int all_;  // partitions
  std::vector<std::pair<const logical*, std::string>> sources_;  // in the order in which they are met
  std::unordered_map<const logical*, std::string> source_ids_;
  std::vector<std::string> edges_;
};

}  // namespace

std::string explain_dot(const machine_graph& g) {
  text t;
  t.line(0, "digraph query {");
  t.line(1, "rankdir=BT; node [shape=box, fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=10];");
  writer w(t, g);
  for (const vertex* v : g.top) w.write(*v, 1);
  w.result(g);
  t.line(0, "}");
  return t.take();
}

}  // namespace query::planner
