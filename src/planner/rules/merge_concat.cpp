// A concatenation (append, prepend, concat) that only another one reads is part of it: one vertex with more inputs. Likewise a
// union of a union by the same key: the first row of each key is the same. A chain of thousands is read in one go.
#include <algorithm>

#include "ir/analysis.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner::rules {

using detail::verb;

namespace {

bool same_keys(rewriting& r, const logical& a, const logical& b) {
  if (a.keys.equal || b.keys.equal || a.key != b.key) return false;
  const ir::traced &x = r.trace(a.functions.front()), &y = r.trace(b.functions.front());
  return x && y && x.root->type == y.root->type && x.root->shape == y.root->shape && !ir::has_capture(x.root);
}

// A setting that the user gave to one verb stays with that verb.
bool has_words(const vertex& v) { return v.node->ordered_to || v.node->gpu_required; }

// May `below` become a part of `above`, which reads its rows as they are?
bool of_one_kind(rewriting& r, const vertex& above, const vertex& below) {
  if (!above.node || above.node->what != below.node->what || above.row() != below.row() || above.slots != below.slots) return false;
  if (above.accelerated != below.accelerated || has_words(above) || has_words(below)) return false;
  if (below.node->what == verb::concat) return true;
  // The GPU's unions have two inputs.
  return !above.accelerated && same_keys(r, *above.node, *below.node);
}

class merging {
 public:
  explicit merging(rewriting& r) : r_(&r) {
    const edge_index edges(r.graph);
    for (auto& v : r.graph.vertices) {
      if (!v->node || (v->node->what != verb::concat && v->node->what != verb::union_with)) continue;
      const edge e = edges.only_reader(*v);
      if (e.how != edge::kind::rows || !e.reader || !e.through->stages.empty() || !e.through->prefilters.empty()) continue;
      if (of_one_kind(r, *e.reader, *v)) r.dropped.insert(v.get());
    }
  }
  // Takes over the inputs of those below that are parts of v, in order.
  void take_inputs(vertex& v) {
    if (std::none_of(v.inputs.begin(), v.inputs.end(), [&](const branch& b) { return b.table && r_->dropped.contains(b.table); })) return;
    struct entry {
      vertex* of;
      std::size_t next;
    };
    std::vector<branch> inputs;
    std::vector<entry> open{{&v, 0}};
    std::size_t parts = 0;
    while (!open.empty()) {
      entry& e = open.back();
      if (e.next == e.of->inputs.size()) {
        open.pop_back();
        continue;
      }
      branch& b = e.of->inputs[e.next++];
      if (b.table && r_->dropped.contains(b.table)) {
        add_captures(v.captures, b.table->captures);
        v.ordered = v.ordered || b.table->ordered;
        ++parts;
        open.push_back({b.table, 0});
      } else {
        inputs.push_back(std::move(b));
      }
    }
    v.inputs = std::move(inputs);
    note(*r_, &v, "merge_concat: " + std::to_string(parts) + " more of its kind below are part of it");
  }

 private:
  rewriting* r_;
};

}  // namespace

void merge_concat(rewriting& r) {
  merging m(r);
  if (r.dropped.empty()) return;
  for (auto& v : r.graph.vertices)
    if (v->node && !r.dropped.contains(v.get())) m.take_inputs(*v);
  remove_dropped(r);
}

}  // namespace query::planner::rules
