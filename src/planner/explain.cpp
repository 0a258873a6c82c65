#include "planner/explain_text.hpp"

#include <algorithm>

#include "ir/analysis.hpp"
#include "planner/names.hpp"

namespace query::planner {

using detail::verb;

void text::line(int depth, std::string_view left, std::string_view right) {
  constexpr std::size_t right_column = 72;
  std::string l(static_cast<std::size_t>(depth) * 2, ' ');
  l += left;
  if (!right.empty()) {
    l.resize(std::max(l.size() + 2, right_column), ' ');
    l += right;
  }
  out_ += l;
  out_ += '\n';
}

std::string source_text(const logical& n) { return n.label + " of " + std::string(n.row->name); }

std::string verbs_text(const stage& s) {
  if (s.nodes.empty()) return "rows of columns";
  std::string all;
  for (const logical* n : s.nodes) all += (all.empty() ? "" : ", ") + verb_of(*n);
  return all;
}

namespace {

// Why a stage with a filter tests its rows one by one. The planner decided; this finds the reason again.
std::string why_branchy(const stage& s) {
  bool filtered = false;
  for (const logical* n : s.nodes) {
    if (filtered)
      for (const detail::user_function& f : n->functions) {
        const ir::traced t = f.trace();
        if (!t) return "the function of " + n->label + " is opaque";
        if (!ir::speculatable(t.root)) return "the function of " + n->label + " must not run on rows that a filter rejects";
      }
    filtered = filtered || n->what == verb::where;
  }
  return "its rows or verbs have no branch-free loop";
}

std::string native_form(const stage& s) {
  if (s.how == form::thunks || !s.native) return "native, one function at a time";
  const bool filters = std::any_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) { return n->what == verb::where; });
  if (!filters) return "native";
  return s.speculate ? "native, branch-free" : "native, with branches: " + why_branchy(s);
}

std::string form_on_cpu(const stage& s) {
  std::string all = s.how == form::interpreted ? "interpreted" : native_form(s);
  for (std::size_t i = 0; i < s.native_because.size(); ++i) {
    if (s.native_because[i].empty()) continue;
    const logical& n = *s.nodes[i];
    const char* how = s.checks ? " unchecked: " : s.how == form::interpreted ? " natively: " : " not interpreted: ";
    all += "; " + n.label + " @" + place_of(n.where) + how + s.native_because[i];
  }
  return all;
}

}  // namespace

std::string engine_of_forms(std::string_view engine, const std::vector<engine_share>& shares) {
  if (engine != "split") return engine == "gpu" ? "gpu" : "cpu";
  return std::any_of(shares.begin(), shares.end(), [](const engine_share& s) { return s.engine == "gpu"; }) ? "split" : "cpu";
}

std::string form_text(const stage& s, std::string_view engine) {
  if (engine == "gpu") return "generated";
  return form_on_cpu(s) + (engine == "split" ? "; generated on the gpu" : "");
}

std::string wanted_text(const ir::type* row, const std::vector<bool>& wanted) {
  if (wanted.empty()) return {};
  std::string all;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) all += (all.empty() ? "" : ", ") + std::string(row->fields()[i].name);
  return (all.empty() ? "none" : all) + " of " + std::to_string(wanted.size());
}

std::string vertex_name(const vertex& v) { return v.node ? verb_of(*v.node) : "collect"; }

std::string explain(const machine_graph& g) {
  text t;
  explain_logical(g, t);
  t.line(0, "");
  explain_machine(g, t);
  return t.take();
}

}  // namespace query::planner
