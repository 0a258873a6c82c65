#include "planner/explain_text.hpp"

#include <algorithm>

#include "ir/analysis.hpp"
#include "ir/utf8.hpp"
#include "planner/names.hpp"

namespace query::planner {

using detail::verb;

void text::line(int depth, std::string_view left, std::string_view right) {
  constexpr std::size_t right_column = 72;
  // Beyond that, what is indented more cannot be told apart: plans may be thousands of verbs deep.
  constexpr int deepest = 40;
  std::string l(static_cast<std::size_t>(std::min(depth, deepest)) * 2, ' ');
  l += left;
  if (!right.empty()) {
    l.resize(std::max(l.size() + 2, right_column), ' ');
    l += right;
  }
  out_ += l;
  out_ += '\n';
}

void text::wrapped(int depth, std::string_view left, std::string_view right) {
  constexpr std::size_t width = 100;
  while (left.size() > longest_shown) {
    std::size_t at = left.rfind(", ", width);
    if (at == std::string_view::npos || at < width / 2) at = left.rfind(' ', width);
    const bool in_a_word = at == std::string_view::npos || at < width / 2;
    const std::size_t end = in_a_word ? ir::cut_between_characters(left, width).size() : left[at] == ',' ? at + 1 : at;
    line(depth, left.substr(0, end), right);
    left.remove_prefix(left[end] == ' ' ? end + 1 : end);
    if (!right.empty()) ++depth;  // of all lines but the first
    right = {};
  }
  line(depth, left, right);
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
  std::string all = s.fold                        ? "kernels over columns"
                    : s.how == form::columns     ? "interpreted over columns"
                    : s.how == form::interpreted ? "interpreted"
                                                 : native_form(s);
  for (std::size_t i = 0; i < s.native_because.size(); ++i) {
    if (s.native_because[i].empty()) continue;
    const logical& n = *s.nodes[i];
    const char* how = s.checks ? " compiled, optionals unchecked: " : s.how == form::interpreted ? " natively: " : " not interpreted: ";
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

vertex_names::vertex_names(const machine_graph& g) {
  for (const vertex* v : g.top) add(*v);
  const auto joins_of = [&](const branch& b) {
    for (const stage& s : b.stages) {
      if (!s.build) continue;
      std::vector<const logical*>& all = joins_[s.build];
      if (std::find(all.begin(), all.end(), s.join) == all.end()) all.push_back(s.join);
    }
  };
  for (const auto& v : g.vertices)
    for (const branch& b : v->inputs) joins_of(b);
  joins_of(g.result);
}

void vertex_names::add(const std::vector<vertex*>& vertices) {
  for (const vertex* v : vertices) add(*v);
}
void vertex_names::add(const vertex& v) {
  numbers_.emplace(&v, static_cast<int>(numbers_.size()) + 1);
  add(v.body);
  add(v.test);
}

std::string vertex_names::number(const vertex& v) const {
  const auto at = numbers_.find(&v);
  return "v" + (at == numbers_.end() ? "?" : std::to_string(at->second));
}

std::string vertex_names::verb(const vertex& v) const {
  if (sends_states(v) && *v.moves == exchange::hash) return "exchange of groups by hash for " + v.node->label;
  if (sends_states(v)) return "exchange: gather of states for " + v.node->label;
  if (v.moves && v.node) return "exchange by " + std::string(name_of(*v.moves)) + " for " + v.node->label;
  if (v.moves) return "exchange: " + std::string(name_of(*v.moves));
  if (v.node) return verb_of(*v.node);
  const auto at = joins_.find(&v);
  return at == joins_.end() ? "collect" : "hash table of " + at->second.front()->label;
}

std::string vertex_names::hash_tables_of(const vertex& v) const {
  const auto at = joins_.find(&v);
  // The name of a vertex without a verb tells of the only one.
  if (at == joins_.end() || (!v.node && !v.moves && at->second.size() == 1)) return {};
  std::string all;
  for (const logical* join : at->second) all += (all.empty() ? "" : ", ") + join->label + " @" + place_of(join->where);
  return all;
}

std::string explain(const machine_graph& g) {
  text t;
  explain_logical(g, t);
  t.line(0, "");
  explain_machine(g, t);
  return t.take();
}

}  // namespace query::planner
