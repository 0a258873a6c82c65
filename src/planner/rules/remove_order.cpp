// A sort (or reverse, or partition) whose consumer gives the same whatever the order is left out: below whole-row set verbs, groupings
// and aggregates that do not depend on the order in any bit, counts, integer sums, means whose sum is an integer, and hash tables of
// joins. None of these sees partitions. Not below another order_by: sorts are stable, so the earlier one decides among ties. Nor where
// the first of several equal rows or keys shows in the result and may differ from the others in its bits, as 0.0 does from -0.0.
#include <algorithm>

#include "ir/group_function.hpp"
#include "ir/visit.hpp"
#include "planner/partitions.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner::rules {

using detail::join_kind;
using detail::verb;

namespace {

bool only_arranges(const vertex& v) {
  if (!v.node) return false;
  if (v.node->what == verb::partition) return v.node->count <= most_partitions;
  return v.node->what == verb::order_by || v.node->what == verb::reverse;
}

// Any verb above may have as_ordered(), for rows that came in this order.
bool order_is_asked_for(rewriting& r) {
  if (r.order_asked) return *r.order_asked;
  const machine_graph& g = r.graph;
  const auto in = [](const branch& b) {
    return std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) {
      return (s.join && s.join->ordered) || std::any_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) { return n->ordered; });
    });
  };
  r.order_asked = in(g.result) || std::any_of(g.vertices.begin(), g.vertices.end(), [&](const auto& v) {
                    return v->ordered || (v->node && v->node->ordered) || std::any_of(v->inputs.begin(), v->inputs.end(), in);
                  });
  return *r.order_asked;
}

bool function_ignores_order(rewriting& r, const detail::user_function& f) {
  const ir::traced& t = r.trace(f);
  if (!t) return false;
  const auto aggregates = aggregates_in(t.root);
  return std::all_of(aggregates.begin(), aggregates.end(), ignores_order);
}

// The key of a group is that of its first row.
bool shows_key(rewriting& r, const detail::user_function& of_group) {
  bool shows = false;
  ir::each_node(r.trace(of_group).root, [&](const ir::node* n) { shows = shows || n->what == ir::op::key; });
  return shows;
}

// `rows`: the input of the verb whose order is asked about.
bool verb_ignores_order(rewriting& r, const vertex& v, const branch& rows) {
  const logical& n = *v.node;
  switch (n.what) {
    case verb::aggregate: return function_ignores_order(r, n.functions.front());
    case verb::group_by:
      return !n.keys.equal && !order_is_asked_for(r) && function_ignores_order(r, n.functions.back()) &&
             (alike_where_equal(n.key) || !shows_key(r, n.functions.back()));
    case verb::intersect:
    case verb::except:
      // Rows of the second input do not come out: they are looked up.
      if (&rows == &v.inputs.back()) return !n.keys.equal;
      [[fallthrough]];
    case verb::distinct:
    case verb::union_with:
      // Which of several rows with one key stays depends on the order, unless the key is all of the row.
      return !n.keys.equal && !order_is_asked_for(r) && is_whole_row(r.trace(n.functions.front())) && alike_where_equal(n.row);
    default: return false;
  }
}

bool terminal_ignores_order(const machine_graph& g) {
  if (g.terminal == "count") return true;
  if (!g.result.row || !(ir::is_integer(g.result.row->k) || g.result.row->k == ir::kind::boolean)) return false;
  if (g.terminal == "average") return !ir::is_floating(ir::kind_of_mean_sum(g.result.row->k));
  return g.terminal == "sum" || g.terminal == "min" || g.terminal == "max";
}

// `numbered`: a function on the way to the reader takes row numbers.
bool reader_ignores_order(rewriting& r, const edge& e, bool numbered) {
  switch (e.how) {
    case edge::kind::rows:
      if (numbered) return false;
      if (!e.reader) return terminal_ignores_order(r.graph);
      return e.reader->node && verb_ignores_order(r, *e.reader, *e.through);
    case edge::kind::build: {
      const logical& join = *e.join;
      return join.join == join_kind::semi || join.join == join_kind::anti || !order_is_asked_for(r);
    }
    default: return false;
  }
}

std::string name_of_reader(const rewriting& r, const edge& e) {
  if (e.how == edge::kind::build) return verb_at(*e.join);
  return e.reader ? verb_at(*e.reader->node) : r.graph.terminal;
}

}  // namespace

void remove_order(rewriting& r) {
  const edge_index edges(r.graph);
  // From the result down: what is left out hands its reader on to what lies below.
  struct handed_on {
    edge reader;
    bool numbered;
  };
  std::unordered_map<const vertex*, handed_on> left_out;
  for (auto at = r.graph.vertices.rbegin(); at != r.graph.vertices.rend(); ++at) {
    vertex& v = **at;
    if (!only_arranges(v)) continue;
    edge e = edges.only_reader(v);
    bool numbered = e.how == edge::kind::rows && numbers_rows(*e.through);
    if (const auto above = left_out.find(e.reader); e.how == edge::kind::rows && above != left_out.end()) {
      e = above->second.reader;
      numbered = numbered || above->second.numbered;
    }
    if (!reader_ignores_order(r, e, numbered)) continue;
    note(r, e.reader, "remove_order: " + verb_at(*v.node) + " is left out, " + name_of_reader(r, e) + " gives the same in any order");
    if (can_bypass(v, e)) left_out.emplace(&v, handed_on{e, numbered});
    else v.node = nullptr;
  }
  for (auto& v : r.graph.vertices)
    if (left_out.contains(v.get())) drop_verb(r, *v, edges.only_reader(*v));
  remove_dropped(r);
}

}  // namespace query::planner::rules
