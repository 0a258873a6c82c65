#include "planner/known_sizes.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "planner/cluster_graph.hpp"

namespace query::planner {

using detail::verb;

namespace {

constexpr std::uint64_t unknown = ~std::uint64_t{0};

std::uint64_t rows_there(const logical& source) {
  detail::row_block rows;
  source.view(source.source.get(), rows);
  return rows.n;
}

std::uint64_t rows_of_source(const logical& source) {
  if (is_range(source)) return source.count;
  return source.view && source.what != verb::placeholder ? rows_there(source) : unknown;
}
// At most so many, whatever its inputs have.
std::optional<std::uint64_t> rows_known(const vertex& v) {
  if (v.limit != ~0ull) return v.limit;
  if (v.node && v.node->what == verb::aggregate) return 1;
  if (v.node && (v.node->what == verb::take || v.node->what == verb::take_last || v.node->what == verb::sample)) return v.node->count;
  if (v.inputs.empty()) return unknown;  // a file
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> length_of(const pipe& end) {
  const pipe* p = &end;
  for (; p->native; p = &p->native->origin)
    if (!p->native->keeps_position()) return std::nullopt;
  if (!p->node->view) return std::nullopt;
  return rows_there(*p->node);
}

bool is_probe(const detail::logical& n) {
  return n.what == verb::join && n.join != detail::join_kind::right && n.join != detail::join_kind::full;
}

bool may_be_endless(const pipe& end) {
  const pipe* p = &end;
  while (p->native || is_probe(*p->node)) p = p->native ? &p->native->origin : &p->node->inputs[0];
  return p->node->what == verb::source_stream && !p->node->count;
}

// Looks at each vertex once: in q = q.zip(q), q = q.zip(q)..., the ways to the source double with each verb.
std::uint64_t most_rows(const branch& b) {
  constexpr std::size_t most_vertices = 64;  // for each vertex of a plan
  std::uint64_t rows = 0;
  std::vector<const branch*> open{&b};
  for (std::unordered_set<const vertex*> seen; !open.empty() && rows != unknown;) {
    const branch& now = *open.back();
    open.pop_back();
    if (now.source) {
      rows = std::max(rows, rows_of_source(*now.source));
      continue;
    }
    const vertex& v = *now.table;
    if (const auto known = rows_known(v)) {
      rows = std::max(rows, *known);
    } else if (seen.insert(&v).second) {
      if (seen.size() > most_vertices) return unknown;
      for (const branch& input : v.inputs) open.push_back(&input);
    }
  }
  return rows;
}

bool is_small(const vertex& table, std::uint64_t most_bytes) {
  if (table.node || table.inputs.size() != 1) return false;
  const branch& b = table.inputs.front();
  if (!b.source || !b.source->view || b.source->what == verb::placeholder) return false;
  if (std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) {
        return s.what == stage::kind::probe || std::any_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) {
                 return n->what == verb::select_many;
               });
      }))
    return false;
  return rows_there(*b.source) * table.row()->size <= most_bytes;
}

}  // namespace query::planner
