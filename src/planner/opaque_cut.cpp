#include "planner/opaque_cut.hpp"

#include <algorithm>

#include "planner/cut_branch.hpp"
#include "planner/orders.hpp"
#include "planner/rules/limits.hpp"

namespace query::planner {

using detail::verb;

namespace {

bool opaque(const logical& n) {
  return std::any_of(n.functions.begin(), n.functions.end(),
                     [](const detail::user_function& f) { return !f.on_device && !f.trace(); });
}

// What the front takes: so many stages, and verbs of the next.
struct extent {
  std::size_t stages = 0, verbs = 0;
  bool some() const { return stages || verbs; }
};

extent up_to_opaque(const branch& b) {
  extent e;
  for (std::size_t i = 0; i < b.stages.size(); ++i) {
    const stage& s = b.stages[i];
    if (s.what == stage::kind::probe) {
      if (opaque(*s.join)) e = {i + 1, 0};
      continue;
    }
    for (std::size_t n = 0; n < s.nodes.size(); ++n)
      if (opaque(*s.nodes[n])) e = n + 1 == s.nodes.size() ? extent{i + 1, 0} : extent{i, n + 1};
  }
  return e;
}

bool can_cut(const branch& b, const extent& e) {
  if (b.source && b.source->open) return false;  // its rows are not to become a table
  if (e.verbs && !planner::can_cut(b.stages[e.stages])) return false;
  // Row numbers behind the cut would be those of the table.
  return std::none_of(b.stages.begin() + static_cast<std::ptrdiff_t>(e.stages), b.stages.end(),
                      [](const stage& s) { return s.native && s.native->needs_position(); });
}

// A verb that looks at all rows, and is worth a table of them.
bool breaks(const vertex& v) {
  if (!v.node) return std::any_of(v.inputs.front().stages.begin(), v.inputs.front().stages.end(), [](const stage& s) { return s.join; });
  switch (v.node->what) {
    case verb::join:
    case verb::group_join:
    case verb::group_by:
    case verb::aggregate:
    case verb::order_by:
    case verb::distinct:
    case verb::union_with:
    case verb::intersect:
    case verb::except: return v.limit == rules::no_limit || v.node->what == verb::order_by;
    default: return false;
  }
}

slot_set captured_by(const branch& b) {
  slot_set all;
  for (const prefilter& f : b.prefilters) all.merge(planner::captured_by(f));
  for (const stage& s : b.stages) {
    if (s.join) all.merge(planner::captured_by(*s.join));
    for (const logical* n : s.nodes) all.merge(planner::captured_by(*n));
  }
  return all;
}

std::vector<binding> those(const std::vector<binding>& captures, const slot_set& slots) {
  std::vector<binding> some;
  for (const binding& c : captures)
    if (slots.contains(c.slot)) some.push_back(c);
  return some;
}

}  // namespace

std::optional<opaque_cut> cut_behind_opaque(const vertex& v) {
  if (!breaks(v) || (v.node && opaque(*v.node))) return std::nullopt;
  opaque_cut cut;
  cut.rest = v;
  slot_set of_fronts;
  for (branch& b : cut.rest.inputs) {
    const extent e = up_to_opaque(b);
    if (!e.some()) continue;
    if (!can_cut(b, e)) return std::nullopt;
    auto front = std::make_unique<vertex>();
    branch first = cut_branch(b, e.stages, e.verbs, front.get());
    // What has to be elsewhere cannot be the CPU's.
    if (demands_gpu(first)) return std::nullopt;
    const slot_set captured = captured_by(first);
    front->captures = those(v.captures, captured);
    front->slots = slots_of(first, front->captures);
    front->accelerated = v.accelerated;
    front->ordered = v.ordered;
    front->inputs.push_back(std::move(first));
    of_fronts.insert(captured.begin(), captured.end());
    cut.fronts.push_back(std::move(front));
  }
  if (cut.fronts.empty()) return std::nullopt;
  // Without a verb there is a join left to do, or nothing is gained.
  if (!breaks(cut.rest)) return std::nullopt;
  // Collections that the fronts alone look into need not be brought to the rest.
  slot_set of_rest;
  for (const branch& b : cut.rest.inputs) of_rest.merge(captured_by(b));
  if (v.node) of_rest.merge(planner::captured_by(*v.node));
  std::erase_if(cut.rest.captures, [&](const binding& c) { return of_fronts.contains(c.slot) && !of_rest.contains(c.slot); });
  return cut;
}

void make_cut(machine_graph& g, vertex& v, opaque_cut cut) {
  int branches = 0;
  for (const auto& x : g.vertices)
    for (const branch& b : x->inputs) branches = std::max(branches, b.number);
  for (branch& b : cut.rest.inputs)
    if (std::any_of(cut.fronts.begin(), cut.fronts.end(), [&](const auto& f) { return f.get() == b.table; })) b.number = ++branches;
  const int id = v.id;
  v = std::move(cut.rest);
  v.id = id;
  std::vector<vertex*> fronts;
  for (auto& f : cut.fronts) {
    number_before(g, v, *f);
    fronts.push_back(f.get());
    const auto at = std::find_if(g.vertices.begin(), g.vertices.end(), [&](const auto& x) { return x.get() == &v; });
    g.vertices.insert(at, std::move(f));
  }
  // In the list that v runs in: the graph's, or that of a loop.
  if (const auto at = std::find(g.top.begin(), g.top.end(), &v); at != g.top.end()) g.top.insert(at, fronts.begin(), fronts.end());
  for (const auto& x : g.vertices)
    for (auto* list : {&x->body, &x->test})
      if (const auto at = std::find(list->begin(), list->end(), &v); at != list->end()) list->insert(at, fronts.begin(), fronts.end());
}

}  // namespace query::planner
