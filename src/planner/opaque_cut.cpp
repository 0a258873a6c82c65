#include "planner/opaque_cut.hpp"

#include <algorithm>
#include <utility>

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

// The first n verbs of stage i, and all before.
extent up_to(const branch& b, std::size_t i, std::size_t n) { return n == b.stages[i].nodes.size() ? extent{i + 1, 0} : extent{i, n}; }

// Up to the first opaque function, and behind the last; two are equal where there is none.
std::pair<extent, extent> around_opaque(const branch& b) {
  std::optional<extent> first;
  extent last;
  const auto found = [&](extent at, extent behind) {
    if (!first) first = at;
    last = behind;
  };
  for (std::size_t i = 0; i < b.stages.size(); ++i) {
    const stage& s = b.stages[i];
    if (s.what == stage::kind::probe && opaque(*s.join)) found({i, 0}, {i + 1, 0});
    for (std::size_t n = 0; n < s.nodes.size(); ++n)
      if (opaque(*s.nodes[n])) found({i, n}, up_to(b, i, n + 1));
  }
  return {first.value_or(extent{}), last};
}

// Is there anything to do for rows? Rows made of columns are no work.
bool works(const branch& b) {
  return std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.join || !s.nodes.empty(); });
}
bool joins(const branch& b) {
  return std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.join; });
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
  if (!v.node) return joins(v.inputs.front());
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

// Cuts the front off one input of `rest`, which is v, or what other cuts have left of it.
std::unique_ptr<vertex> cut_front(const vertex& v, branch& b, const extent& e) {
  auto front = std::make_unique<vertex>();
  branch first = cut_branch(b, e.stages, e.verbs, front.get());
  front->captures = those(v.captures, captured_by(first));
  front->slots = slots_of(first, front->captures);
  front->accelerated = accelerated(first);
  front->ordered = v.ordered;
  front->cut_off = true;
  front->inputs.push_back(std::move(first));
  return front;
}

// Collections that the fronts alone look into need not be brought to the rest.
void forget_captures(opaque_cut& cut) {
  slot_set of_fronts, of_rest;
  for (const auto& f : cut.fronts) of_fronts.merge(captured_by(f->inputs.front()));
  for (const branch& b : cut.rest.inputs) of_rest.merge(captured_by(b));
  if (cut.rest.node) of_rest.merge(planner::captured_by(*cut.rest.node));
  std::erase_if(cut.rest.captures, [&](const binding& c) { return of_fronts.contains(c.slot) && !of_rest.contains(c.slot); });
}

}  // namespace

std::optional<opaque_cut> cut_behind_opaque(const vertex& v, bool whole) {
  if ((!breaks(v) && !whole) || (v.node && opaque(*v.node))) return std::nullopt;
  opaque_cut cut;
  cut.rest = v;
  for (branch& b : cut.rest.inputs) {
    const extent e = around_opaque(b).second;
    if (!e.some()) continue;
    if (!can_cut(b, e)) return std::nullopt;
    cut.fronts.push_back(cut_front(v, b, e));
  }
  if (cut.fronts.empty()) return std::nullopt;
  if (!breaks(cut.rest) && !(whole && works(cut.rest.inputs.front()))) return std::nullopt;
  forget_captures(cut);
  return cut;
}

std::optional<opaque_cut> cut_before_opaque(const vertex& v, std::size_t input) {
  opaque_cut cut;
  cut.rest = v;
  branch& b = cut.rest.inputs[input];
  const auto [first, last] = around_opaque(b);
  const bool by_verb = !last.some() && v.node && opaque(*v.node);
  const extent e = by_verb ? extent{b.stages.size(), 0} : first;
  if (!e.some() || !can_cut(b, e)) return std::nullopt;
  cut.fronts.push_back(cut_front(v, b, e));
  if (!works(cut.fronts.front()->inputs.front())) return std::nullopt;
  forget_captures(cut);
  return cut;
}

bool reads_all(const vertex& v) { return v.node && (v.node->what == verb::cached || (breaks(v) && !hands_on(v.node->what))); }

std::set<const vertex*> read_whole(const machine_graph& g, reading how) {
  std::set<const vertex*> read, all;
  const auto tables_of = [&](const branch& b, const std::vector<binding>& captures, bool rows) {
    if (rows) read.insert(b.table);
    for (const stage& s : b.stages) read.insert(s.build);
    for (const binding& c : captures) read.insert(c.table);
  };
  tables_of(g.result, g.captures, how != reading::on_demand);
  for (auto at = g.vertices.rbegin(); at != g.vertices.rend(); ++at) {
    const vertex& v = **at;
    if (!v.node && read.contains(&v) && v.limit == rules::no_limit && v.slots.empty() && !v.kept_if_it_fits) all.insert(&v);
    for (const branch& b : v.inputs) tables_of(b, v.captures, reads_all(v) || all.contains(&v));
  }
  return all;
}

bool cut_as_ordered(machine_graph& g, vertex& v, bool whole) {
  if (!demands_gpu(v)) return false;
  const auto apart = [](const std::optional<opaque_cut>& before) { return before && !demands_gpu(before->rest); };
  if (auto behind = cut_behind_opaque(v, whole); behind && demands_gpu(behind->rest)) {
    std::vector<vertex*> demanding;
    for (const auto& f : behind->fronts)
      if (demands_gpu(*f)) demanding.push_back(f.get());
    if (!std::all_of(demanding.begin(), demanding.end(), [&](const vertex* f) { return apart(cut_before_opaque(*f, 0)); })) return false;
    make_cut(g, v, std::move(*behind));
    for (vertex* f : demanding) make_cut(g, *f, *cut_before_opaque(*f, 0));
    return true;
  }
  if (!whole && !reads_all(v)) return false;
  bool cut = false;
  for (std::size_t i = 0; i < v.inputs.size(); ++i) {
    if (!demands_gpu(v.inputs[i])) continue;
    auto before = cut_before_opaque(v, i);
    if (!before || demands_gpu(before->rest.inputs[i])) continue;
    make_cut(g, v, std::move(*before));
    cut = true;
  }
  return cut;
}

void make_cut(machine_graph& g, vertex& v, opaque_cut cut) {
  int branches = 0;
  for (const auto& x : g.vertices)
    for (const branch& b : x->inputs) branches = std::max(branches, b.number);
  for (branch& b : cut.rest.inputs)
    if (std::any_of(cut.fronts.begin(), cut.fronts.end(), [&](const auto& f) { return f.get() == b.table; })) b.number = ++branches;
  const bool in_graph = std::any_of(g.vertices.begin(), g.vertices.end(), [&](const auto& x) { return x.get() == &v; });
  v = std::move(cut.rest);
  std::vector<vertex*> fronts;
  for (auto& f : cut.fronts) {
    fronts.push_back(f.get());
    const auto at = std::find_if(g.vertices.begin(), g.vertices.end(), [&](const auto& x) { return x.get() == &v; });
    g.vertices.insert(at, std::move(f));
  }
  if (!in_graph) {
    g.top.insert(g.top.end(), fronts.begin(), fronts.end());
    return;
  }
  // In the list that v runs in: the graph's, or that of a loop.
  if (const auto at = std::find(g.top.begin(), g.top.end(), &v); at != g.top.end()) g.top.insert(at, fronts.begin(), fronts.end());
  for (const auto& x : g.vertices)
    for (auto* list : {&x->body, &x->test})
      if (const auto at = std::find(list->begin(), list->end(), &v); at != list->end()) list->insert(at, fronts.begin(), fronts.end());
}

void drop_last(machine_graph& g) {
  const vertex* const last = g.result.table;
  g.result = last->inputs.front();
  g.captures = last->captures;
  g.notes.insert(g.notes.end(), last->notes.begin(), last->notes.end());
  std::erase(g.top, last);
  std::erase_if(g.vertices, [&](const auto& v) { return v.get() == last; });
}

}  // namespace query::planner
