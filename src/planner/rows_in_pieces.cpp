#include <algorithm>
#include <unordered_set>
#include <vector>

#include "planner/cluster_graph.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner {

using detail::verb;

namespace {

bool looks_at_each_row(const branch& b) {
  return !rules::numbers_rows(b) &&
         std::all_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.what == stage::kind::rowwise; });
}
bool keeps_order(const vertex& v) {
  if (!v.node || v.moves) return !sends_states(v);
  switch (v.node->what) {
    case verb::source_file:
    case verb::order_by: return true;
    default: return false;
  }
}

// When cached rows are lost with a process, all runs again, which rows that have left do not allow.
bool may_be_lost(const vertex& v) { return v.node && v.node->what == verb::cached && v.partitions > 1; }

}  // namespace

bool rows_come_in_pieces(machine_graph& g) {
  vertex* const gathers = g.result.table;
  if (!gathers || gathers->moves != exchange::gather || g.result_partitions != 1) return false;
  if (gathers->streamed || !gathers->slots.empty()) return false;
  if (std::any_of(g.vertices.begin(), g.vertices.end(), [](const auto& v) { return may_be_lost(*v); })) return false;
  if (sends_states(*gathers) || !looks_at_each_row(g.result)) return false;
  if (rules::edge_index(g).only_reader(*gathers).how != rules::edge::kind::rows) return false;
  std::vector<const vertex*> next{gathers};
  std::unordered_set<const vertex*> seen{gathers};
  // Collections that functions read, too: made again, they are to have the order that they had.
  const auto read = [&](const std::vector<binding>& captures) {
    for (const binding& b : captures)
      if (b.table && seen.insert(b.table).second) next.push_back(b.table);
  };
  read(g.captures);
  while (!next.empty()) {
    const vertex& v = *next.back();
    next.pop_back();
    if (!keeps_order(v)) return false;
    read(v.captures);
    for (const branch& b : v.inputs) {
      if (!looks_at_each_row(b)) return false;
      if (b.table && seen.insert(b.table).second) next.push_back(b.table);
    }
  }
  return true;
}

}  // namespace query::planner
