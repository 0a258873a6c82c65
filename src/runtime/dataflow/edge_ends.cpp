#include "runtime/dataflow/edge_ends.hpp"

#include <string>

#include <query/errors.hpp>

namespace query::runtime {

namespace {

using detail::flow_plan;
using detail::flow_source;

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

void add_edges(const flow_source& s, std::vector<std::size_t>& all) {
  if (s.what == flow_source::kind::edge || s.what == flow_source::kind::iterated) all.push_back(s.edge);
  for (const flow_source& p : s.parts) add_edges(p, all);
}

void check_back_edges(const flow_source& s, const flow_plan& plan) {
  if (s.what == flow_source::kind::iterated && plan.edges[s.edge].capacity)
    throw user_error("dataflow: iterates: an edge with a capacity cannot hold an iteration, make it by back_edge_of: " +
                     plan.edges[s.edge].name);
  for (const flow_source& p : s.parts) check_back_edges(p, plan);
}

void set(std::vector<std::size_t>& ends, std::size_t edge, std::size_t vertex, const char* does, const flow_plan& plan) {
  if (ends[edge] != nobody) throw user_error(std::string("dataflow: an edge that more than one port ") + does + plan.edges[edge].name);
  ends[edge] = vertex;
}

}  // namespace

std::vector<std::size_t> edges_of(const flow_source& s) {
  std::vector<std::size_t> all;
  add_edges(s, all);
  return all;
}

edge_ends::edge_ends(const flow_plan& plan) : writer(plan.edges.size(), nobody), reader(plan.edges.size(), nobody) {
  for (std::size_t v = 0; v < plan.vertices.size(); ++v) {
    for (const flow_source& s : plan.vertices[v].inputs) {
      check_back_edges(s, plan);
      for (const std::size_t e : edges_of(s)) set(reader, e, v, "reads: ", plan);
    }
    for (const auto& port : plan.vertices[v].outputs) {
      for (const detail::flow_route& r : port) set(writer, r.edge, v, "writes to: ", plan);
    }
  }
  for (std::size_t e = 0; e < plan.edges.size(); ++e) {
    if (writer[e] == nobody) throw user_error("dataflow: an edge that no vertex writes to: " + plan.edges[e].name);
    if (reader[e] == nobody) throw user_error("dataflow: an edge that no vertex reads: " + plan.edges[e].name);
  }
}

}  // namespace query::runtime
