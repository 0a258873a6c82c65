// What a loop does to rows that do not change, before the first function that sees the loop's rows, is computed once: the
// row-wise verbs, tests and joins at the head of a branch of its body become a vertex of their own outside of the loop, and the
// branch begins at its table. Verbs that the user's compiler made one loop of are then called one after the other.
//
// It is done whenever there is such a verb: also a cheap projection is the user's function, which is to be called once a row.
// Memory decides at run time: rows that do not fit are computed anew each round (runtime/executor.cpp).
#include <algorithm>

#include "planner/cut_branch.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/limits.hpp"

namespace query::planner::rules {

using detail::verb;

namespace {

bool meet(const std::vector<std::uint64_t>& a, const slot_set& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint64_t s) { return b.contains(s); });
}

// Does the reader look at every row of the branch, and at nothing but rows? The first rows of a source without an end are all that
// some need; apply's partitions are those of the table that it reads.
bool takes_all_rows(const vertex& reader, const branch& b) {
  const bool may_have_no_end = b.source && b.source->open;
  if (!reader.node) return reader.limit == no_limit;
  switch (reader.node->what) {
    case verb::apply: return reader.node->all;
    case verb::take:
    case verb::take_while:
    case verb::zip: return false;
    case verb::skip:
    case verb::skip_while:
    case verb::concat:
    case verb::default_if_empty:
    case verb::chunk:
    case verb::window:
    case verb::distinct:
    case verb::union_with:
    case verb::cross_join: return reader.limit == no_limit && !may_have_no_end;
    default: return true;
  }
}

// The head of one branch: how far it goes, and what it needs.
class head {
 public:
  head(const vertex& reader, const branch& b, const slot_set& varying) : reader_(&reader), varying_(&varying) {
    if (b.table ? meet(b.table->slots, varying) : varying.contains(b.source->what == verb::placeholder ? b.source->slot : 0)) return;
    for (const prefilter& f : b.prefilters) {
      if (!keeps(f)) return;
      some_ = true;
    }
    // Each round would call a generator anew.
    if (b.source && b.source->open && b.source->label == "generate") some_ = true;
    while (stages_ < b.stages.size()) {
      const stage& s = b.stages[stages_];
      if (s.what == stage::kind::probe) {
        if (meet(s.build->slots, varying) || !keeps(*s.join)) break;
      } else {
        std::size_t n = 0;
        while (n < s.nodes.size() && keeps(*s.nodes[n])) ++n;
        if (n < s.nodes.size()) {
          if (n && can_cut(s)) verbs_ = n;
          break;
        }
      }
      ++stages_;
    }
    some_ = some_ || stages_ || verbs_;
  }

  explicit operator bool() const { return some_; }
  std::size_t stages() const { return stages_; }
  std::size_t verbs() const { return verbs_; }  // of the stage after those
  const std::vector<binding>& captures() const { return captures_; }

 private:
  bool keeps(const slot_set& captured) {
    std::vector<binding> needed;
    for (const binding& c : reader_->captures) {
      if (!captured.contains(c.slot)) continue;
      if (meet(c.table->slots, *varying_)) return false;
      needed.push_back(c);
    }
    for (const binding& c : needed)
      if (std::none_of(captures_.begin(), captures_.end(), [&](const binding& x) { return x.slot == c.slot; })) captures_.push_back(c);
    return true;
  }
  bool keeps(const logical& n) {
    return std::all_of(n.functions.begin(), n.functions.end(), [&](const detail::user_function& f) { return keeps(captured_by(f)); });
  }
  bool keeps(const prefilter& f) { return keeps(captured_by(f)); }

  const vertex* reader_;
  const slot_set* varying_;
  std::vector<binding> captures_;
  std::size_t stages_ = 0, verbs_ = 0;
  bool some_ = false;
};

std::string verbs_of(const branch& b) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const prefilter& f : b.prefilters) add(f.from->label);
  for (const stage& s : b.stages) {
    if (s.join) add(s.join->label);
    for (const logical* n : s.nodes) add(n->label);
  }
  return names.empty() ? b.source->label : names;
}

class loops {
 public:
  explicit loops(rewriting& r) : r_(&r), graph_(&r.graph) {}

  void keep(vertex& loop) {
    const std::vector<vertex*> body = loop.body, test = loop.test;
    for (vertex* w : body) keep_heads(loop, *w, {loop.node->slot});
    for (vertex* w : test) keep_heads(loop, *w, {loop.node->previous_slot, loop.node->next_slot});
  }

 private:
  void keep_heads(vertex& loop, vertex& reader, const slot_set& varying) {
    for (std::size_t i = 0; i < reader.inputs.size(); ++i)
      if (const head h(reader, reader.inputs[i], varying); h && takes_all_rows(reader, reader.inputs[i]))
        make_vertex(loop, reader, reader.inputs[i], h);
  }

  void make_vertex(vertex& loop, vertex& reader, branch& b, const head& h) {
    auto made = std::make_unique<vertex>();
    vertex& v = *made;
    branch first = cut_branch(b, h.stages(), h.verbs(), &v);
    v.captures = h.captures();
    v.slots = slots_of(first, v.captures);
    v.accelerated = reader.accelerated;
    v.interpreted = reader.interpreted;
    v.kept_if_it_fits = true;
    note(*r_, &v, "hoisted: " + verbs_of(first) + " before the loop's rows are seen, computed once if the rows fit in memory");
    v.inputs.push_back(std::move(first));
    place(v, &loop);
    const auto at = std::find_if(graph_->vertices.begin(), graph_->vertices.end(), [&](const auto& x) { return x.get() == &reader; });
    graph_->vertices.insert(at, std::move(made));
  }

  // Right before the outermost loop on whose rows v does not depend.
  void place(vertex& v, vertex* loop) {
    while (true) {
      vertex* outer = nullptr;
      std::vector<vertex*>* in = nullptr;
      for (const auto& x : graph_->vertices)
        for (auto* list : {&x->body, &x->test})
          if (std::find(list->begin(), list->end(), loop) != list->end()) outer = x.get(), in = list;
      if (!outer) {
        graph_->top.insert(std::find(graph_->top.begin(), graph_->top.end(), loop), &v);
        return;
      }
      const logical& n = *outer->node;
      if (meet(v.slots, {n.slot, n.previous_slot, n.next_slot})) {
        in->insert(std::find(in->begin(), in->end(), loop), &v);
        return;
      }
      loop = outer;
    }
  }

  rewriting* r_;
  machine_graph* graph_;
};

}  // namespace

void keep_invariants(rewriting& r) {
  std::vector<vertex*> all;
  for (auto& v : r.graph.vertices)
    if (v->node && v->node->what == verb::do_while) all.push_back(v.get());
  for (vertex* v : all) loops(r).keep(*v);  // inner loops come first
}

}  // namespace query::planner::rules
