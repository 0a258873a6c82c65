// A partition of rows that are partitioned so already is left out: the rows come from a partition of the same kind, number
// and key, through verbs that keep rows in their partitions. So is a partition that another one makes anew without a trace of
// the first. Says of every partition and apply what the partitions are.
//
// Only what a partition verb gave counts as partitioned. Groups, joins and distinct rows are partitioned by hash inside the
// engine, but by other numbers, chosen while they run, and their tables keep no bounds.
#include <algorithm>
#include <optional>

#include "ir/analysis.hpp"
#include "planner/partitions.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner::rules {

using detail::verb;

namespace {

using way = partition_way;

way way_of(const logical& n) { return static_cast<way>(n.step); }
bool is_partition(const vertex* v) { return v && v->node && v->node->what == verb::partition; }

// "8 by hash of symbol"
std::string partitions_text(rewriting& r, const logical& n) {
  std::string text = n.count ? std::to_string(n.count) + " " : "";
  switch (way_of(n)) {
    case way::hash: text += "by hash of "; break;
    case way::range: text += "by range of "; break;
    case way::runs: return text + "runs of adjacent rows";
  }
  return text + ir::show(r.trace(n.functions.front()));
}

bool filters(const branch& b) {
  return std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) {
    return std::any_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) { return n->what == verb::where; });
  });
}

// The key of a partition above the stages as an expression over the rows below them; none where that cannot be known.
std::optional<ir::traced> key_below(rewriting& r, const logical& partition, const branch& b) {
  ir::traced key = r.trace(partition.functions.front());
  if (!key) return std::nullopt;
  for (std::size_t i = b.stages.size(); i-- > 0;) {
    const stage& s = b.stages[i];
    if (s.what != stage::kind::rowwise || (s.native && s.native->needs_position())) return std::nullopt;
    for (std::size_t k = s.nodes.size(); k-- > 0;) {
      const logical& n = *s.nodes[k];
      if (n.what == verb::where) continue;
      if (n.what != verb::select) return std::nullopt;
      const ir::traced& row = r.trace(n.functions.front());
      if (!row) return std::nullopt;
      ir::traced next;
      next.owner = std::make_shared<ir::arena>();
      const ir::node* made[] = {row.root};
      try {
        next.root = ir::substitute(*next.owner, key.root, made);
      } catch (const untraceable&) {
        return std::nullopt;
      }
      if (!next.root) return std::nullopt;
      key = std::move(next);
    }
  }
  return key;
}

bool same_key(rewriting& r, const logical& above, const logical& below, const branch& between) {
  const auto own = [](const logical& n) { return n.has_own_equality() || n.has_own_order(); };
  if (above.key != below.key || own(above) || own(below)) return false;
  const auto key = key_below(r, above, between);
  const ir::traced& known = r.trace(below.functions.front());
  // Of rows that compiled code rounds otherwise in two places, one may change sides.
  return key && known && key->root->shape == known.root->shape && key->root->type == known.root->type && !may_contract(known.root);
}

bool row_wise_between(const branch& b) {
  return b.prefilters.empty() && std::all_of(b.stages.begin(), b.stages.end(), [](const stage& s) {
           return s.what == stage::kind::rowwise && !(s.native && s.native->needs_position());
         });
}

// Do the rows of `between`, from the partition `below`, lie in the partitions that `above` would make, in the same order?
bool partitioned_already(rewriting& r, const logical& above, const logical& below, const branch& between) {
  if (way_of(above) != way_of(below) || above.count != below.count || !row_wise_between(between)) return false;
  // Ranges and runs are of equal lengths, which a filter changes; where no number was named, empty partitions do not count.
  const bool rigid = way_of(above) == way::hash && above.count != 0;
  if (!rigid && filters(between)) return false;
  if (way_of(above) == way::runs)
    return std::all_of(between.stages.begin(), between.stages.end(), [](const stage& s) {
      return std::all_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) { return n->what == verb::select; });
    });
  return same_key(r, above, below, between);
}

// Is the result of `above` the same, to the order of the rows, whether `below` was there or not?
bool made_anew(rewriting& r, const logical& above, const logical& below, const branch& between) {
  if (!row_wise_between(between)) return false;
  if (way_of(below) == way::runs) return true;  // the rows keep their order
  // Finer partitions by hash of the same key lie within the coarser ones.
  const bool finer = above.count && below.count && above.count % below.count == 0;
  return way_of(above) == way::hash && way_of(below) == way::hash && finer && same_key(r, above, below, between);
}

// A vertex that stays as a mere collection of its rows loses the bounds if anything happens to the rows on the way.
bool can_go(const vertex& v, const edge& above) {
  const branch& rows = v.inputs.front();
  return can_bypass(v, above) || (rows.stages.empty() && rows.prefilters.empty());
}

// Did the partition below v go, so that v is to be looked at again?
bool leave_out(rewriting& r, const edge_index& edges, vertex& v) {
  branch& rows = v.inputs.front();
  if (!is_partition(rows.table)) return false;
  vertex& below = *rows.table;
  const edge above = edges.only_reader(v);
  if (can_go(v, above) && partitioned_already(r, *v.node, *below.node, rows)) {
    note(r, above.how == edge::kind::rows ? above.reader : &below,
         "remove_partition: " + verb_at(*v.node) + " is left out, partitioning inferred from " + verb_at(*below.node));
    drop_verb(r, v, above);
    return false;
  }
  // Those between it and v have gone.
  edge between = edges.only_reader(below);
  if (between.how == edge::kind::rows && made_anew(r, *v.node, *below.node, rows)) {
    note(r, &v, "remove_partition: " + verb_at(*below.node) + " is left out, " + verb_at(*v.node) + " partitions its rows anew");
    between.reader = &v;
    between.through = &rows;
    drop_verb(r, below, between);
    return r.dropped.contains(&below);
  }
  return false;
}

}  // namespace

void remove_partition(rewriting& r) {
  const edge_index edges(r.graph);
  for (auto& v : r.graph.vertices)
    while (is_partition(v.get()) && !r.dropped.contains(v.get()) && leave_out(r, edges, *v)) {
    }
  remove_dropped(r);
  for (auto& v : r.graph.vertices) {
    if (is_partition(v.get())) note(r, v.get(), "partitions: " + partitions_text(r, *v->node));
    if (!v->node || v->node->what != verb::apply || v->node->all) continue;
    const vertex* rows = v->inputs.front().table;
    // A table that is handed on as it is keeps its bounds.
    while (rows && (!rows->node || rows->node->what == verb::cached) && rows->inputs.front().stages.empty())
      rows = rows->inputs.front().table;
    if (is_partition(rows))
      note(r, v.get(), "partitions: " + partitions_text(r, *rows->node) + ", inferred from " + verb_at(*rows->node));
    else
      note(r, v.get(), "partitions: runs of rows that the engine chooses");
  }
}

}  // namespace query::planner::rules
