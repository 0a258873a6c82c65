// Aggregates run inside their grouping: the function of groups is one program of states that rows update as they come. The
// user's compiler fuses it where the parameter is `auto g`; this rule has nothing to rewrite, it says what happens. Groups
// that are materialised stay so: what a function does with a query::Group cannot be seen.
#include <algorithm>

#include "planner/rules/expressions.hpp"
#include "planner/rules/rule.hpp"

namespace query::planner::rules {

using detail::verb;

namespace {

bool any(const std::string&) { return true; }
// Their states grow with the group: values that they have seen.
bool keeps_values(const std::string& name) {
  return name == "median" || name == "quantile" || name == "count_distinct" || name == "collect";
}

std::string names_of(const std::vector<const ir::node*>& aggregates, bool wanted(const std::string&)) {
  std::vector<std::string> names;
  for (const ir::node* a : aggregates)
    if (wanted(a->text) && std::find(names.begin(), names.end(), a->text) == names.end()) names.push_back(a->text);
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

}  // namespace

void fuse_aggregate(rewriting& r) {
  for (auto& v : r.graph.vertices) {
    if (!v->node || (v->node->what != verb::group_by && v->node->what != verb::aggregate)) continue;
    const detail::user_function& f = v->node->functions.back();
    if (f.role == "groups") {
      note(r, v.get(),
           "fuse_aggregate: no, groups are read with their rows, which are kept (in select([](auto g) {...}) behind group_by(key) "
           "aggregates are kept up as rows come)");
      continue;
    }
    const ir::traced& t = r.trace(f);
    if (!t) continue;
    const auto aggregates = aggregates_in(t.root);
    const std::string names = names_of(aggregates, any), keepers = names_of(aggregates, keeps_values);
    note(r, v.get(), names.empty() ? "fuse_aggregate: only the keys are kept"
                                   : "fuse_aggregate: " + names + " kept up as rows come, no group keeps its rows" +
                                         (keepers.empty() ? "" : ", but the values of " + keepers));
  }
}

}  // namespace query::planner::rules
