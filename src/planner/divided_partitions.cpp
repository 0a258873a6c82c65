#include "planner/divided_partitions.hpp"

#include <algorithm>
#include <unordered_set>

#include "planner/partitions.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner {

using detail::verb;

namespace {

bool is_apply(const vertex& v) { return v.node && v.node->what == verb::apply && !v.node->all; }
bool is_partition(const vertex& v) { return v.node && v.node->what == verb::partition; }

bool row_wise(const branch& b) {
  return std::all_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.what == stage::kind::rowwise; });
}
bool takes_number(const logical& n) {
  const detail::native_calls& f = n.functions.front().native;
  return !f.map && !f.filter && !f.expand;
}

}  // namespace

stage* stage_of_numbers(vertex& partition) {
  stage* numbers = nullptr;
  std::size_t functions = 0;
  for (stage& s : partition.inputs.front().stages) {
    if (s.what != stage::kind::rowwise) return nullptr;
    if (!s.native || !s.native->needs_position()) continue;
    numbers = &s;
    functions += static_cast<std::size_t>(std::count_if(s.nodes.begin(), s.nodes.end(), [](const logical* n) { return takes_number(*n); }));
  }
  if (!numbers || functions != 1) return nullptr;
  const logical& n = *numbers->nodes.back();
  return takes_number(n) && n.label == partition.node->label && n.row == partition.node->row ? numbers : nullptr;
}

divided_partitions::divided_partitions(machine_graph& g, const cluster_options& options) {
  std::unordered_set<const vertex*> in_loops;
  for (const auto& v : g.vertices)
    for (const auto* list : {&v->body, &v->test}) in_loops.insert(list->begin(), list->end());
  const rules::edge_index edges(g);
  for (const auto& v : g.vertices) {
    if (!is_partition(*v) && !is_apply(*v)) continue;
    std::string& why = why_[v.get()];
    if (in_loops.contains(v.get())) why = "it runs in each round of a loop";
    else why = is_apply(*v) ? why_apply(*v, options) : why_partition(*v, options);
    if (!is_partition(*v) || !why.empty()) continue;
    if (is_of_windows(*v->node) && !stage_of_numbers(*v)) why = "its rows are numbered";
    // Bounds of partitions do not get to another partition of the cluster.
    for (const rules::edge& e : edges.readers_of(*v)) {
      if (!why.empty()) break;
      if (e.how != rules::edge::kind::rows) why = "several verbs read its partitions";
      else if (!e.reader || !e.reader->node || e.reader->node->what == verb::cached) {
        if (e.reader) why = "its partitions are kept for several verbs";
      } else if (is_apply(*e.reader)) {
        why = in_loops.contains(e.reader) ? "a loop reads its partitions" : why_apply(*e.reader, options);
        if (why.empty() && !row_wise(*e.through)) why = "its rows are joined before their function is called";
        if (why.empty() && rules::numbers_rows(*e.through)) why = "its rows are numbered";
      }
    }
  }
  // What reads rows of a partition runs where these are.
  for (const auto& v : g.vertices) {
    if (!is_apply(*v)) continue;
    const vertex* const table = v->inputs.front().table;
    if (table && is_partition(*table) && why_[v.get()].empty()) why_[v.get()] = why_[table];
  }
}

namespace {

std::string why_here(const logical& n, const cluster_options& options) {
  if (!options.here || n.functions.empty()) return {};
  const auto found = options.here->find(n.functions.front().f.get());
  return found == options.here->end() ? "" : "its function cannot run in another process: " + found->second;
}

}  // namespace

std::string divided_partitions::why_partition(const vertex& v, const cluster_options& options) const {
  const logical& n = *v.node;
  switch (static_cast<partition_way>(n.step)) {
    case partition_way::hash: break;
    case partition_way::range: return "where a partition begins depends on the rank of its rows among all";
    case partition_way::runs: break;
  }
  if (n.has_own_equality()) return "it compares keys by functions of the user's own";
  if (n.count > most_partitions) return "it has too many partitions";
  if (!options.can_travel(*v.row())) return "its rows cannot be sent to others";
  return why_here(n, options);
}

std::string divided_partitions::why_apply(const vertex& v, const cluster_options& options) const {
  if (!options.can_travel(*v.row())) return "what its function gives cannot be sent to others";
  return why_here(*v.node, options);
}

const std::string& divided_partitions::why_in_one(const vertex& v) const {
  static const std::string nothing;
  const auto found = why_.find(&v);
  return found == why_.end() ? nothing : found->second;
}

}  // namespace query::planner
