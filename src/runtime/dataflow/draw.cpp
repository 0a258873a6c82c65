// A graph as a picture: vertices as boxes, edges with their capacities and predicates, back edges dashed.
#include "planner/explain_text.hpp"
#include "runtime/dataflow/edge_ends.hpp"

namespace query::detail {

namespace {

// How rows come in, of sources that are more than an edge.
std::string said_of(const flow_source& s) {
  switch (s.what) {
    case flow_source::kind::merged: return "merges ";
    case flow_source::kind::initial: return "initially " + std::to_string(s.initial.size()) + " rows, " + said_of(s.parts.front());
    case flow_source::kind::iterated: return "iterates " + said_of(s.parts.front());
    case flow_source::kind::edge: break;
  }
  return "";
}

}  // namespace

std::string dataflow_dot(const flow_plan& plan) {
  const runtime::edge_ends ends(plan);
  std::string dot = "digraph dataflow {\n  rankdir=LR; node [shape=box, fontname=\"sans-serif\"]; "
                    "edge [fontname=\"sans-serif\", fontsize=10];\n";
  for (std::size_t v = 0; v < plan.vertices.size(); ++v) {
    std::string label = plan.vertices[v].name;
    for (const flow_source& s : plan.vertices[v].inputs) {
      std::string said = said_of(s);
      if (said.empty()) continue;
      while (said.back() == ' ' || said.back() == ',') said.pop_back();
      label += "\n" + said;
    }
    dot += "  v" + std::to_string(v) + " [label=" + planner::dot_quoted(label) + "];\n";
  }
  for (std::size_t v = 0; v < plan.vertices.size(); ++v) {
    for (const auto& port : plan.vertices[v].outputs) {
      for (const flow_route& r : port) {
        const flow_edge& e = plan.edges[r.edge];
        const char* which = r.mark ? "\nwhen" : r.whole ? "\nwhen_block" : r.otherwise ? "\notherwise" : "";
        const std::string label = e.name + (e.capacity ? " (" + std::to_string(e.capacity) + ")" : "") + which;
        dot += "  v" + std::to_string(v) + " -> v" + std::to_string(ends.reader[r.edge]) + " [label=" + planner::dot_quoted(label) +
               (e.capacity ? "" : ", style=dashed, constraint=false") + "];\n";
      }
    }
  }
  return dot + "}\n";
}

}  // namespace query::detail
