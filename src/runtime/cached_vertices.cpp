#include "runtime/cached_vertices.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace query::runtime {

using planner::vertex;

bool is_cached(const vertex& v) { return v.node && v.node->what == detail::verb::cached && v.slots.empty(); }

cached_part part_of(const vertex& v, std::uint32_t partition) {
  if (v.partitions == 1) return {};
  return {partition, static_cast<std::uint32_t>(v.partitions)};
}

cached_vertices find_cached_vertices(const planner::machine_graph& graph, session_state& session, std::uint32_t partition,
                                     function_ref<bool(const vertex&)> others_have) {
  cached_vertices cached;
  std::vector<const vertex*> open;
  std::unordered_set<const vertex*> needed;
  const auto need = [&](const vertex* v) {
    if (v && needed.insert(v).second) open.push_back(v);
  };
  const auto need_branch = [&](const planner::branch& b) {
    need(b.table);
    for (const planner::stage& s : b.stages) need(s.build);
  };
  const auto need_captured = [&](const std::vector<planner::binding>& captures) {
    for (const planner::binding& c : captures) need(c.table);
  };
  need_branch(graph.result);
  need_captured(graph.captures);
  while (!open.empty()) {
    const vertex& v = *open.back();
    open.pop_back();
    if (is_cached(v)) {
      auto found = session.find_cached(*v.node, v.ordered, part_of(v, partition));
      if (found && (v.partitions == 1 || others_have(v))) {
        cached.found.emplace(&v, std::move(*found));
        continue;
      }
      if (v.partitions > 1) cached.anew.insert(&v);
    }
    for (const planner::branch& b : v.inputs) need_branch(b);
    need_captured(v.captures);
    for (const vertex* w : v.body) need(w);
    for (const vertex* w : v.test) need(w);
    need_branch(v.body_result);
    need_branch(v.test_result);
  }
  if (cached.found.empty()) return cached;
  for (const vertex* v : graph.top)
    if (!needed.contains(v)) cached.spared.insert(v);
  return cached;
}

}  // namespace query::runtime
