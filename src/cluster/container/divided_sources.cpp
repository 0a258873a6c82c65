#include "cluster/container/divided_sources.hpp"

#include <algorithm>

#include "planner/cluster_graph.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cluster {

using planner::branch;

std::vector<runtime::row_range> divide_sources(planner::machine_graph& g, std::size_t partition, divided which) {
  std::vector<runtime::row_range> parts;
  const auto divide = [&](branch& b, int partitions) {
    if (partitions == 1 || !planner::is_divided(b)) return;
    const bool made = planner::is_made_in_parts(*b.source);
    if (which == divided::ranges && !made) return;
    std::uint64_t rows = b.source->count;
    if (!made) {
      detail::row_block whole;
      b.source->view(b.source->source.get(), whole);
      rows = whole.n;
    }
    const auto end = [&](std::size_t p) { return p ? runtime::even_end(rows, static_cast<std::size_t>(partitions), p) : 0; };
    parts.emplace_back(*b.source, end(partition), end(partition + 1));
    b.source = parts.back().node();
  };
  for (const auto& v : g.vertices)
    for (branch& b : v->inputs) divide(b, std::max(v->partitions, v->variable_partitions));
  divide(g.result, g.result_partitions);
  return parts;
}

}  // namespace query::cluster
