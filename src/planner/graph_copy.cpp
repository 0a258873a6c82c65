// A machine graph of its own, whose vertices refer to each other as those of the first one do.
#include "planner/cluster_graph.hpp"

namespace query::planner {

graph_copy copy_of(const machine_graph& g) {
  graph_copy c{std::make_unique<machine_graph>(), {}};
  machine_graph& to = *c.graph;
  for (const auto& v : g.vertices) {
    to.vertices.push_back(std::make_unique<vertex>(*v));
    c.of[v.get()] = to.vertices.back().get();
  }
  const auto now = [&](auto*& v) {
    if (v) v = c.of.at(v);
  };
  const auto branch_now = [&](branch& b) {
    now(b.table);
    for (stage& s : b.stages) now(s.build);
  };
  const auto captures_now = [&](std::vector<binding>& captures) {
    for (binding& b : captures) now(b.table);
  };
  for (auto& v : to.vertices) {
    for (branch& b : v->inputs) branch_now(b);
    now(v->probing);
    captures_now(v->captures);
    for (auto*& w : v->body) now(w);
    for (auto*& w : v->test) now(w);
    branch_now(v->body_result);
    branch_now(v->test_result);
    for (auto*& w : v->kept_for_rounds) now(w);
  }
  to.top = g.top;
  for (auto*& v : to.top) now(v);
  to.result = g.result;
  branch_now(to.result);
  to.result_engine = g.result_engine;
  to.captures = g.captures;
  captures_now(to.captures);
  to.partitions = g.partitions;
  to.result_partitions = g.result_partitions;
  to.processes = g.processes;
  to.transport = g.transport;
  to.verbs = g.verbs;
  to.terminal = g.terminal;
  to.notes = g.notes;
  to.no_gpu = g.no_gpu;
  to.root = g.root;
  return c;
}

}  // namespace query::planner
