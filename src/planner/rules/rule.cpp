#include "planner/rules/rule.hpp"

#include "planner/names.hpp"

namespace query::planner::rules {

const ir::traced& rewriting::trace(const detail::user_function& f) {
  const auto it = traces_.find(&f);
  return it != traces_.end() ? it->second : traces_.emplace(&f, f.trace()).first->second;
}

void note(rewriting& r, vertex* at, std::string text) { (at ? at->notes : r.graph.notes).push_back(std::move(text)); }

std::string verb_at(const logical& n) { return verb_of(n) + " @" + place_of(n.where); }

}  // namespace query::planner::rules
