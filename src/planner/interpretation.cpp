#include "planner/interpretation.hpp"

#include <algorithm>
#include <atomic>

#include "ir/analysis.hpp"
#include "ir/device_function.hpp"
#include "ir/owning_states.hpp"
#include "ir/visit.hpp"
#include "planner/left_native.hpp"
#include "planner/names.hpp"

namespace query::planner {

using detail::verb;

namespace {

constexpr const char* compiled_counterpart = "the counterpart of a device function is compiled";

// Traces f; all that its copies and its trace captured.
captured trace_into(const detail::user_function& f, ir::traced& expression) {
  captured all = f.captures;
  const detail::capture_recorder recorder;
  expression = f.trace();
  for (const auto& c : recorder.found())
    if (std::none_of(all.begin(), all.end(), [&](const auto& known) { return known->slot == c->slot; })) all.push_back(c);
  return all;
}

// `n` as `to`, as compiled code stores it; null where that has no expression.
const ir::node* stored_as(ir::arena& a, const ir::node* n, const ir::type* to) {
  const ir::type* from = n->type;
  if (from == to) return n;
  if (ir::is_arithmetic(from->k) && ir::is_arithmetic(to->k)) return a.put(ir::op::cast, to, {n});
  if (to->k != ir::kind::optional) return nullptr;
  if (from->k != ir::kind::optional) {
    const ir::node* value = stored_as(a, n, to->element);
    return value ? a.put(ir::op::some, to, {value}) : nullptr;
  }
  const bool numbers = ir::is_arithmetic(from->element->k) && ir::is_arithmetic(to->element->k);
  return numbers ? a.put(ir::op::cast, to, {n}) : nullptr;
}

template <class Interpretation> void store_result(Interpretation& i, const detail::user_function& f) {
  const ir::node* root = i.expression.root;
  if (root->type == f.result) return;
  if (f.role == "collection") {
    i.native_because = "its collections are put in by compiled code";
    return;
  }
  const ir::node* stored = stored_as(*i.expression.owner, root, f.result);
  if (!stored) {
    i.native_because =
        "its trace gives " + std::string(root->type->name) + ", and only compiled code makes " + std::string(f.result->name) + " of it";
    return;
  }
  i.expression.root = stored;
}

template <class Interpretation> bool trace_for(Interpretation& i, const detail::user_function& f, bool stores = true) {
  i.captures = trace_into(f, i.expression);
  if (!i.expression) i.native_because = i.expression.reason;
  else if (ir::calls_device_function(i.expression.root)) i.native_because = compiled_counterpart;
  else if (!f.row || f.row->size == 0) i.native_because = "its rows have no layout that the interpreter knows";
  else if (stores) store_result(i, f);
  return static_cast<bool>(i);
}

// What an expression reads of the two rows of a pair.
struct pair_reads {
  const ir::type* whole[2] = {};  // type of a node that is the whole row of a side
  bool any[2] = {};
};
pair_reads reads_of(const ir::node* root) {
  pair_reads r;
  ir::each_node(root, [&](const ir::node* n) {
    if ((n->what != ir::op::row && n->what != ir::op::field) || n->id > 1) return;
    r.any[n->id] = true;
    if (n->what == ir::op::row) r.whole[n->id] = n->type;
  });
  return r;
}

// ---------------------------------------------------------------- forms of a graph
std::atomic<native_observer> observer = nullptr;
void tell(const logical& n, const detail::user_function& f, const std::string& why) {
  if (const native_observer o = observer.load(); o && !why.empty()) o({n, f, why});
}

std::string at_place(const logical& n) { return n.label + " @" + planner::place_of(n.where); }

class choosing {
 public:
  explicit choosing(interpreted_functions which) : checks_(which == interpreted_functions::trapping) {}
  // Of these functions alone; what is interpreted already stays so. Those that are not go to `compiled`.
  choosing(const function_set& only, left_compiled& compiled) : checks_(false), only_(&only), compiled_(&compiled) {}

  void branch_of(branch& b) const {
    for (prefilter& f : b.prefilters) {
      if (!f.function || !may_choose(*f.function)) continue;
      const interpretation i = interpret(*f.function);
      tell_left(*f.from, *f.function, i.native_because);
      f.interpreted = i && wanted(*f.function);
    }
    for (stage& s : b.stages) {
      if (s.how == form::columns || !may_choose(s)) continue;  // columns: by their expressions already
      s.native_because.clear();
      if (s.what == stage::kind::probe) probe(s);
      else rowwise(s);
    }
  }
  void vertex_of(vertex& v) const {
    for (branch& b : v.inputs) branch_of(b);
    if (!v.node) return;
    const logical& n = *v.node;
    const bool groups = n.what == verb::group_by || n.what == verb::aggregate;
    for (const detail::user_function& f : n.functions) {
      if (!may_choose(f)) continue;
      if (groups && &f == &n.functions.back()) group_function(v, f);
      else if (const std::string why = why_native(n, f); !why.empty()) left(v, f, f.role, why);
      else v.interpreted = v.interpreted || wanted(f);
    }
  }

 private:
  bool may_choose(const detail::user_function& f) const { return !only_ || only_->contains(f.f.get()); }
  bool may_choose(const stage& s) const {
    const auto any = [&](const logical& n) { return std::ranges::any_of(n.functions, [&](const auto& f) { return may_choose(f); }); };
    return !only_ || (s.join && any(*s.join)) || std::ranges::any_of(s.nodes, [&](const logical* n) { return any(*n); });
  }
  // Of a function that could be interpreted: is it of those that shall be?
  bool wanted(const detail::user_function& f) const { return may_choose(f) && (!checks_ || may_trap(f.trace())); }
  void tell_left(const logical& n, const detail::user_function& f, const std::string& why) const {
    if (compiled_ && may_choose(f) && !why.empty()) compiled_->emplace(f.f.get(), why);
    else if (!checks_ && !only_) tell(n, f, why);
  }
  // Why the function is not one of those that are interpreted and shall be; empty if it is, or need not be.
  std::string left_because(const detail::user_function& f, std::string why) const {
    return !why.empty() && f.trace() && !wanted(f) ? std::string() : why;
  }
  std::string why_native(const logical& n, const detail::user_function& f) const {
    return left_because(f, why_not_interpreted(n, f));
  }
  static std::string why_not_interpreted(const logical& n, const detail::user_function& f) {
    const bool of_runs = n.what == verb::chunk || n.what == verb::window;
    if (of_runs && f.row && !ir::can_be_filled(f.row)) return "its rows cannot be put into a list";
    if (f.native.map_pairs) return interpret_pair(f, side_of(n, 0), side_of(n, 1)).native_because;
    return f.native.map || f.native.filter || of_runs ? interpret(f).native_because : f.trace().reason;
  }
  // A side's rows as the function of pairs takes them: group_join's right one is the list of matches.
  static const ir::type* side_of(const logical& n, std::size_t i) {
    if (n.what == verb::group_join && i == 1) return static_cast<const ir::type*>(n.source.get());
    return n.inputs[i].native ? n.inputs[i].native->out : n.inputs[i].node->row;
  }

  void rowwise(stage& s) const {
    if (s.nodes.empty()) return;  // rows of columns
    std::string indivisible;
    bool any = false;
    s.checks = s.checks || checks_;
    const ir::type* row = s.in;
    for (const logical* n : s.nodes) {
      const detail::user_function& f = n->functions.front();
      const bool in_batches = f.native.map || f.native.filter || f.native.expand;
      const bool lists_checked = f.native.expand && may_trap(f.trace()) && interpret_lists(f);
      std::string why = lists_checked && checks_ ? std::string() : interpret(f).native_because;
      if (((!in_batches && !(takes_row_number(f) && why.empty())) || f.row != row) && indivisible.empty()) indivisible = at_place(*n);
      why = left_because(f, std::move(why));
      any = any || lists_checked || (why.empty() && wanted(f));
      s.native_because.push_back(std::move(why));
      row = n->row;
    }
    if (!indivisible.empty()) {
      for (std::size_t i = 0; i < s.nodes.size(); ++i)
        if (std::string& why = s.native_because[i]; why.empty() && wanted(s.nodes[i]->functions.front()))
          why = "its loop cannot be split at " + indivisible;
    } else if (any) {
      s.how = form::interpreted;
    }
    for (std::size_t i = 0; i < s.nodes.size(); ++i) tell_left(*s.nodes[i], s.nodes[i]->functions.front(), s.native_because[i]);
  }
  void probe(stage& s) const {
    bool any = false;
    s.checks = s.checks || checks_;
    for (const detail::user_function& f : s.join->functions) {
      s.native_because.push_back(why_native(*s.join, f));
      any = any || (s.native_because.back().empty() && wanted(f));
      tell_left(*s.join, f, s.native_because.back());
    }
    if (any) s.how = form::interpreted;
  }

  void left(vertex& v, const detail::user_function& f, std::string_view what, const std::string& why) const {
    tell_left(*v.node, f, why);
    const char* how = checks_ ? " compiled, optionals unchecked: " : what == aggregates ? " run natively: " : " runs natively: ";
    v.notes.push_back(std::string(what) + how + why);
  }

  // The function of groups runs by its expressions, or explain() says why not.
  void group_function(vertex& v, const detail::user_function& f) const {
    ir::traced t;
    const captured known = trace_into(f, t);
    if ((t && !wanted(f)) || (only_ && v.group_function)) return;
    ir::group_analysis a = ir::plan_group_function(t, v.node->key, v.node->row);
    if (a.plan && ir::calls_device_function(t.root)) a = {std::nullopt, compiled_counterpart};
    if (!a.plan) {
      left(v, f, aggregates, a.reason);
      return;
    }
    std::string names;
    for (const ir::aggregate_call& c : a.plan->calls) names += (names.empty() ? " " : ", ") + ir::show(c.source);
    v.notes.push_back("aggregates interpreted:" + (names.empty() ? " none, the key alone" : names));
    v.group_function = std::make_shared<const ir::group_plan>(std::move(*a.plan));
    v.interpreted = true;
  }

  static constexpr std::string_view aggregates = "aggregates";
  bool checks_;
  const function_set* only_ = nullptr;
  left_compiled* compiled_ = nullptr;
};

}  // namespace

void observe_left_native(native_observer o) { observer = o; }

captured captures_of(const detail::user_function& f) {
  ir::traced t;
  return trace_into(f, t);
}

bool may_trap(const ir::traced& t) {
  if (!t) return false;
  if (ir::takes_untested_values(t.root)) return true;
  bool divides = false, groups = false;
  ir::each_node(t.root, [&](const ir::node* n) {
    const bool aggregate = n->what == ir::op::aggregate;
    groups = groups || aggregate || n->what == ir::op::key;
    if (aggregate)
      for (const ir::node* k : n->kids) divides = divides || ir::divides_integers(k);
  });
  return groups ? divides : ir::divides_integers(t.root);
}

interpretation interpret(const detail::user_function& f) {
  interpretation i;
  trace_for(i, f);
  return i;
}

bool takes_row_number(const detail::user_function& f) {
  return f.row && !f.native.map && !f.native.filter && !f.native.expand && !f.native.map_pairs;
}

interpretation interpret_lists(const detail::user_function& f) {
  interpretation i;
  trace_for(i, f, false);
  return i;
}

pair_interpretation interpret_pair(const detail::user_function& f, const ir::type* left, const ir::type* right) {
  pair_interpretation i;
  if (!trace_for(i, f)) return i;
  const pair_reads r = reads_of(i.expression.root);
  const ir::type* sides[2] = {left, right};
  for (int s = 0; s < 2; ++s) {
    if (!r.any[s]) continue;
    i.seen[s] = sides[s];
    if (!r.whole[s] || r.whole[s] == sides[s]) continue;
    // The side may be missing: the function sees an optional of the row.
    const ir::type* o = r.whole[s];
    if (o->k != ir::kind::optional || o->element != sides[s] || !o->get.emplace || (!sides[s]->trivial && !sides[s]->life.copy_assign)) {
      i.native_because = "rows of " + std::string(sides[s]->name) + " cannot be put into what it takes for a side that may be missing";
      return i;
    }
    i.seen[s] = o;
    i.optional[s] = true;
  }
  return i;
}

void choose_forms(machine_graph& g, interpreted_functions which) {
  const choosing c(which);
  for (auto& v : g.vertices) c.vertex_of(*v);
  c.branch_of(g.result);
}

left_compiled run_by_expression(machine_graph& g, const function_set& functions) {
  left_compiled compiled;
  const choosing c(functions, compiled);
  for (auto& v : g.vertices) c.vertex_of(*v);
  c.branch_of(g.result);
  return compiled;
}

static const ir::type* rows_of(const logical& n) {
  const detail::pipe& from = n.inputs.front();
  return from.native ? from.native->out : from.node->row;
}

void run_groups_by_expressions(machine_graph& g) {
  // Code of the user's that runs in between may change what a compiled function has captured by reference: an expression would not know.
  const auto asks_user = [](const auto& v) {
    return v->node && (v->node->what == verb::apply || (v->node->what == verb::do_while && v->node->loop_test));
  };
  const bool asked = std::ranges::any_of(g.vertices, asks_user);
  for (auto& v : g.vertices) {
    if (!v->node || (v->node->what != verb::group_by && v->node->what != verb::aggregate) || v->group_function) continue;
    const logical& n = *v->node;
    if (n.aggregate.record && (!n.aggregate.state_owns || asked)) continue;
    const ir::traced t = n.functions.back().trace();
    ir::group_analysis a = ir::plan_group_function(t, n.key, n.row);
    if (n.aggregate.record) {
      if (!a.plan || ir::calls_device_function(t.root) || !ir::keeps_owned_memory(*a.plan, *rows_of(n))) continue;
    } else if (!a.plan) {
      detail::fail(n.label, a.reason, n.where);
    }
    v->group_function = std::make_shared<const ir::group_plan>(std::move(*a.plan));
  }
}

void check_traps(vertex& v) { choosing(interpreted_functions::trapping).vertex_of(v); }
void check_traps(branch& b) { choosing(interpreted_functions::trapping).branch_of(b); }

}  // namespace query::planner
