// What a loop's body reads but does not depend on the loop's rows is computed once and kept for all rounds. The plan is built
// that way (build_graph.cpp keeps only dependent vertices in the body); this rule says what is kept.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "planner/rules/edges.hpp"

namespace query::planner::rules {

namespace {

void add_tables(const vertex& v, std::unordered_set<const vertex*>& tables) {
  for (const branch& b : v.inputs) {
    tables.insert(b.table);
    for (const stage& s : b.stages) tables.insert(s.build);
  }
  for (const binding& c : v.captures) tables.insert(c.table);
}

}  // namespace

void hoist_invariants(rewriting& r) {
  std::unordered_map<const vertex*, std::size_t> places;
  for (const auto& v : r.graph.vertices) places.emplace(v.get(), places.size());
  for (auto& v : r.graph.vertices) {
    if (!v->node || v->node->what != detail::verb::do_while) continue;
    std::unordered_set<const vertex*> read;
    for (const auto* part : {&v->body, &v->test})
      for (const vertex* w : *part) add_tables(*w, read);
    for (const auto* part : {&v->body, &v->test})
      for (const vertex* w : *part) read.erase(w);
    read.erase(nullptr);
    v->kept_for_rounds.assign(read.begin(), read.end());
    std::sort(v->kept_for_rounds.begin(), v->kept_for_rounds.end(),
              [&](const vertex* a, const vertex* b) { return places.at(a) < places.at(b); });
  }
}

}  // namespace query::planner::rules
