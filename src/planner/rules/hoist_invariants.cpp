// What a loop's body reads but does not depend on the loop's rows is computed once and kept for all rounds. The plan is built
// that way (build_graph.cpp keeps only dependent vertices in the body); this rule says what is kept.
#include <algorithm>
#include <set>

#include "planner/rules/edges.hpp"

namespace query::planner::rules {

namespace {

void add_tables(const vertex& v, std::set<const vertex*>& tables) {
  for (const branch& b : v.inputs) {
    tables.insert(b.table);
    for (const stage& s : b.stages) tables.insert(s.build);
  }
  for (const binding& c : v.captures) tables.insert(c.table);
}

}  // namespace

void hoist_invariants(rewriting& r) {
  for (auto& v : r.graph.vertices) {
    if (!v->node || v->node->what != detail::verb::do_while) continue;
    std::set<const vertex*> read;
    for (const auto* part : {&v->body, &v->test})
      for (const vertex* w : *part) add_tables(*w, read);
    std::string kept;
    for (const auto& w : r.graph.vertices) {
      const bool inside = std::find(v->body.begin(), v->body.end(), w.get()) != v->body.end() ||
                          std::find(v->test.begin(), v->test.end(), w.get()) != v->test.end();
      if (!inside && read.contains(w.get())) kept += (kept.empty() ? "v" : ", v") + std::to_string(w->id);
    }
    if (!kept.empty()) note(r, v.get(), "hoist_invariants: " + kept + " computed once, kept for all rounds");
  }
}

}  // namespace query::planner::rules
