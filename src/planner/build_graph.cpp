// From the logical plan to the machine graph: pipes become branches of vertices, breakers become vertices.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include <query/detail/binding.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/together.hpp>
#include <query/errors.hpp>

#include "ir/analysis.hpp"
#include "planner/function_captures.hpp"
#include "planner/interpretation.hpp"
#include "planner/known_sizes.hpp"
#include "planner/machine_graph.hpp"
#include "planner/orders.hpp"
#include "planner/plan_walk.hpp"
#include "planner/prefix_segment.hpp"
#include "planner/rules.hpp"
#include "planner/shared_rows.hpp"

namespace query::planner {

using detail::join_kind;
using detail::verb;

const ir::type* vertex::row() const {
  if (folds) return ir::describe<detail::fold_state>();
  return node ? node->row : inputs.front().row;
}

vertex fold_vertex(const machine_graph& g, detail::fold_kind kind) {
  vertex v;
  v.folds = kind;
  v.inputs.push_back(g.result);
  v.captures = g.captures;
  v.accelerated = true;
  return v;
}

namespace {

// Facts about verbs that the builder knows only after it has seen all of their readers.
struct readers_found {
  std::set<const void*> in_order;            // several read it, and one of them wants LINQ's order (known_as)
  std::unordered_set<const logical*> joins;  // their pairs have several readers: a table, each pair made once
};

class builder {
 public:
  // `known`: what an earlier builder of the same graph found.
  builder(machine_graph& g, const plan_options& o, const shared_rows& shared, readers_found& known)
      : graph_(g), options_(o), shared_(shared), known_(known) {}

  branch result_of(const pipe& p) { return run(build(p)); }
  void separate_result() {
    vertex* v = add_vertex();
    v->inputs.push_back(std::move(graph_.result));
    v->captures = std::move(graph_.captures);
    finish(*v);
    graph_.result = branch{};
    graph_.result.table = v;
    graph_.result.row = v->inputs.front().row;
    graph_.captures.clear();
  }
  // Bindings that the functions collected since the last call need.
  std::vector<binding> take_captures() { return std::move(captures_); }

 private:
  // What rows of a branch meet, from its end back to where they come from: a compiled loop, or a probe.
  struct step {
    const pipe* at;
    bool ordered;  // as_ordered() holds there
    std::optional<stage> probe = {};
    const logical* after = nullptr;  // of a loop: its verbs up to this one are not run, as the branch begins with the rows of that
  };

  plan_walk<branch> build(const pipe& end) {
    // as_ordered() holds for what lies below, down to the verb whose order is free.
    const bool outer = ordered_;
    std::vector<step> steps;
    const pipe* p = &end;
    const logical* shared = nullptr;
    while (true) {
      ordered_ = ordered_ || p->node->ordered;
      if (p->native) {
        const pipe& origin = p->native->origin;
        for (const logical* n = p->node.get(); n != origin.node.get() && detail::row_wise(n->what); n = n->inputs.front().node.get())
          ordered_ = ordered_ || n->ordered;
        shared = shared_.last_of(*p);
        if (shared != p->node.get()) steps.push_back({p, ordered_, {}, shared});
        if (shared) break;
        p = &origin;
      } else if (is_probe(*p->node) && !has_several_readers(*p->node)) {
        stage s = co_await probe_of(*p->node);
        steps.push_back({p, ordered_, std::move(s)});
        p = &p->node->inputs[steps.back().probe->build_left ? 1 : 0];
      } else {
        break;
      }
    }
    branch b;
    if (shared) co_await begin_with_shared(*shared, *p, b);
    else co_await begin(*p, b);
    for (; !steps.empty(); steps.pop_back()) {
      step& s = steps.back();
      ordered_ = s.ordered;
      if (s.probe) co_await add_probe(std::move(*s.probe), b);
      else co_await add_segment(*s.at, b, s.after, s.at->node.get());
    }
    ordered_ = outer;
    co_return b;
  }

  // Where the rows of a branch come from.
  plan_walk<void> begin(const pipe& p, branch& b) {
    const logical& n = *p.node;
    b.row = n.row;
    switch (n.what) {
      case verb::source_rows:
      case verb::source_columns:
      case verb::source_stream:
        check(n);
        b.source = &n;
        break;
      case verb::placeholder:
        if (std::find(open_slots_.begin(), open_slots_.end(), n.slot) == open_slots_.end())
          detail::fail("do_while", "the loop's placeholder was run by a terminal verb, or used outside its loop; inside the body, use "
                                   "query::broadcast(rows) or query::value_of(rows) instead of terminal verbs", n.where);
        b.source = &n;
        break;
      case verb::do_while: b.table = co_await make_loop(n); break;
      case verb::join:
        if (is_probe(n)) co_await begin_with_pairs(n, b);
        else b.table = co_await make_vertex(n);
        break;
      default: b.table = co_await make_vertex(n);
    }
  }

  // The verbs of a compiled loop from behind `after` (null: the first) up to `last`: as it was compiled, if that is all of them, else one
  // function after the other, as those of a prefix of a loop.
  plan_walk<void> add_segment(const pipe& p, branch& b, const logical* after, const logical* last) {
    stage s;
    const bool whole = !after && last == p.node.get() && !is_prefix(*p.native);
    s.native = whole ? p.native : nullptr;
    s.how = whole ? form::native : form::thunks;
    s.in = after ? after->row : p.native->in;
    s.out = last->row;
    const logical* stop = after ? after : p.native->origin.node.get();
    for (const logical* n = last; n != stop && detail::row_wise(n->what); n = n->inputs.front().node.get()) s.nodes.push_back(n);
    std::reverse(s.nodes.begin(), s.nodes.end());
    bool speculatable = true, filtered = false;
    for (const logical* n : s.nodes) {
      check(*n);
      for (const detail::user_function& f : n->functions) {
        for (const auto& c : unbound(*n, f)) co_await bind(*c);
        const ir::traced t = trace_of(*n, f);
        // What runs before the first filter meets the same rows in either loop.
        if (filtered && !(t && ir::speculatable(t.root))) speculatable = false;
      }
      if (n->what == verb::where) filtered = true;
    }
    s.speculate = whole && filtered && speculatable && p.native->can_speculate();
    if (whole && p.native->needs_position()) position(b);
    b.row = s.out;
    b.stages.push_back(std::move(s));
  }

  // Rows of a row-wise verb that several queries of one run want, which are made once: a table. p: where the verb was met.
  plan_walk<void> begin_with_shared(const logical& n, const pipe& p, branch& b) {
    const auto key = std::tuple(&n, static_cast<const detail::segment*>(nullptr), ordered_);
    vertex* v = nullptr;
    if (const auto it = tables_.find(key); it != tables_.end()) {
      v = it->second;
    } else {
      std::vector<binding> outer = take_captures();
      const pipe& loop = shared_.loop_of(n, p);
      branch rows = co_await build(loop.native->origin);
      co_await add_segment(loop, rows, nullptr, &n);
      v = add_vertex();
      v->inputs.push_back(std::move(rows));
      v->captures = take_captures();
      captures_ = std::move(outer);
      finish(*v);
      if (v->slots.empty()) tables_[key] = v;
    }
    b.table = v;
    b.row = n.row;
  }

  // Row numbers are those of a source or a table: filters before them end the branch.
  void position(branch& b) {
    if (b.prefilters.empty() && b.stages.empty()) return;
    vertex* v = add_vertex();
    v->inputs.push_back(std::move(b));
    v->captures = take_captures();
    v->why = "row numbers are needed above a filter";
    finish(*v);
    b = branch{};
    b.table = v;
    b.row = v->inputs.front().row;
  }

  // A join's stage with the table that its rows meet.
  plan_walk<stage> probe_of(const logical& n) {
    check(n);
    stage s;
    s.what = stage::kind::probe;
    s.join = &n;
    // Inner joins build on the side that is known to be smaller, if both lengths are known; the right one otherwise.
    const auto left = length_of(n.inputs[0]), right = length_of(n.inputs[1]);
    s.ordered = ordered_;
    s.any_order = n.join == join_kind::inner && !ordered_;
    s.build_left = s.any_order && left && right && *left < *right;
    std::vector<binding> outer = take_captures();
    s.build = co_await make_table(n.inputs[s.build_left ? 0 : 1]);
    captures_ = std::move(outer);
    co_return s;
  }
  plan_walk<void> add_probe(stage s, branch& b) {
    for (const detail::user_function& f : s.join->functions)
      for (const auto& c : unbound(*s.join, f)) co_await bind(*c);
    s.in = b.row;
    s.out = s.join->row;
    b.row = s.join->row;
    b.stages.push_back(std::move(s));
  }
  // Has this join several readers? Each would probe its hash table, and those of all joins below. The second tells. Pairs of a stream that
  // may have no end are no table.
  bool has_several_readers(const logical& n) {
    if (!seen_again_ && !probed_.insert(&n).second && !known_.joins.contains(&n) && !may_be_endless(n.inputs[0])) {
      known_.joins.insert(&n);
      found_now_.insert(&n);
      again_ = true;
    }
    return known_.joins.contains(&n);
  }
  // The pairs of a join with several readers are a table, as the rows of other verbs are. In a loop, what depends on its rows is built for
  // each reader: such a join stays a stage of it.
  plan_walk<void> begin_with_pairs(const logical& n, branch& b) {
    if (const auto it = made_.find(&n); it != made_.end()) {
      if (ordered_ && known_.in_order.insert(&n).second) again_ = true;
      b.table = it->second;
      co_return;
    }
    const bool outer_order = ordered_;
    if (known_.in_order.contains(&n)) ordered_ = true;
    else if (ordered_) known_.in_order.insert(&n);
    std::vector<binding> outer = take_captures();
    // The joins below have been seen by the first reader; they have no more of them for the second one.
    const bool outer_again = std::exchange(seen_again_, seen_again_ || found_now_.contains(&n));
    stage probe = co_await probe_of(n);
    b = co_await build(n.inputs[probe.build_left ? 1 : 0]);
    co_await add_probe(std::move(probe), b);
    seen_again_ = outer_again;
    ordered_ = outer_order;
    if (!depends_on_loop(b)) {
      vertex* v = add_vertex();
      v->inputs.push_back(std::move(b));
      v->captures = take_captures();
      finish(*v);
      made_[&n] = v;
      b = branch{};
      b.table = v;
      b.row = n.row;
    }
    for (const binding& c : outer)
      if (std::none_of(captures_.begin(), captures_.end(), [&](const binding& x) { return x.slot == c.slot; })) captures_.push_back(c);
  }
  bool depends_on_loop(const branch& b) const {
    std::set<std::uint64_t> slots;
    add_slots(b, slots);
    return !slots.empty() || std::any_of(captures_.begin(), captures_.end(), [](const binding& c) { return !c.table->slots.empty(); });
  }
  static bool keeps_order(verb v) {
    switch (v) {
      case verb::concat: case verb::zip: case verb::take: case verb::skip: case verb::take_while: case verb::skip_while:
      case verb::take_last: case verb::skip_last: case verb::chunk: case verb::window: case verb::index:
      case verb::default_if_empty: case verb::sample: case verb::reverse: case verb::cached: case verb::distinct: return true;
      default: return false;
    }
  }

  vertex* add_vertex() {
    graph_.vertices.push_back(std::make_unique<vertex>());
    vertex* v = graph_.vertices.back().get();
    order_.push_back(v);
    return v;
  }

  // A pipe as a table of its own: the source's rows if it has them side by side. Common ones are one table too: what joins itself
  // again and again would double with every join.
  plan_walk<vertex*> make_table(const pipe& p) {
    const auto key = std::tuple(p.node.get(), p.native.get(), ordered_);
    if (const auto it = tables_.find(key); it != tables_.end()) co_return it->second;
    branch b = co_await build(p);
    if (b.table && b.stages.empty() && b.prefilters.empty()) co_return b.table;
    vertex* v = add_vertex();
    v->captures = take_captures();
    v->inputs.push_back(std::move(b));
    finish(*v);
    if (v->slots.empty()) tables_[key] = v;
    co_return v;
  }

  // Words behind cached() copy its node, but it is the same rows.
  static const void* known_as(const logical& n) { return n.kept_as ? n.kept_as.get() : static_cast<const void*>(&n); }
  // Whether as_ordered() means anything to a verb that keeps the order of its rows: below is one whose order is free.
  bool order_is_free(const branch& b) const {
    return (b.table && free_order_.contains(b.table)) ||
           std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.what == stage::kind::probe; });
  }
  bool order_is_free(const vertex& v) const {
    const auto any_input = [&] { return std::any_of(v.inputs.begin(), v.inputs.end(), [&](const branch& b) { return order_is_free(b); }); };
    if (!v.node) return any_input();
    switch (v.node->what) {
      case verb::source_file: case verb::order_by: case verb::aggregate: return false;
      case verb::distinct: return true;
      default: return !keeps_order(v.node->what) || any_input();
    }
  }
  // What copies of a cached() say of it counts for all: the first engine that one is ordered to, and the permission to use the GPU.
  static void take_words(vertex& v, const logical& n) {
    if (v.node == &n || v.node->what != verb::cached) return;
    const auto orders = [](const logical& x) { return x.gpu_required || x.ordered_to; };
    if (!orders(*v.node) && (orders(n) || (n.accelerated && !v.node->accelerated))) v.node = &n;
    v.accelerated = v.accelerated || n.accelerated;
  }

  plan_walk<vertex*> make_vertex(const logical& n) {
    if (auto it = made_.find(known_as(n)); it != made_.end()) {  // common subplans run once
      if (ordered_ && keeps_order(n.what) && known_.in_order.insert(known_as(n)).second) again_ = true;
      vertex* v = it->second;
      if (v->node->what != verb::cached) v->ordered = v->ordered || ordered_;
      else check(n);
      take_words(*v, n);
      co_return v;
    }
    check(n);
    const bool outer_order = ordered_;
    if (known_.in_order.contains(known_as(n)) || !n.checkpoint.empty()) ordered_ = true;  // files serve every reader
    else if (ordered_) known_.in_order.insert(known_as(n));
    const bool ordered = ordered_;
    ordered_ = ordered_ && keeps_order(n.what);
    std::vector<binding> outer = take_captures();
    std::vector<branch> branches;
    for (const pipe& p : n.inputs) branches.push_back(co_await build(p));
    for (const detail::user_function& f : n.functions)
      for (const auto& c : unbound(n, f)) co_await bind(*c);
    vertex* v = add_vertex();
    v->node = &n;
    v->inputs = std::move(branches);
    v->captures = take_captures();
    captures_ = std::move(outer);
    v->ordered = ordered && (n.what != verb::cached || order_is_free(*v));
    ordered_ = outer_order;
    finish(*v);
    if (v->slots.empty()) made_[known_as(n)] = v;
    co_return v;
  }

  // The vertices of a loop's body, or of its condition: those that depend on its rows, and the one whose table it gives.
  struct part_of_loop {
    std::vector<vertex*> varying;
    branch result;
  };
  plan_walk<part_of_loop> make_part(const pipe& p, std::vector<std::uint64_t> slots) {
    open_slots_.insert(open_slots_.end(), slots.begin(), slots.end());
    const auto before = static_cast<std::ptrdiff_t>(order_.size());
    part_of_loop part;
    branch b = co_await build(p);
    if (b.table && b.stages.empty()) {
      part.result.table = b.table;
    } else {
      vertex* t = add_vertex();
      t->inputs.push_back(std::move(b));
      t->captures = take_captures();
      finish(*t);
      part.result.table = t;
    }
    const auto stays = std::stable_partition(order_.begin() + before, order_.end(), [&](const vertex* v) {
      return std::none_of(v->slots.begin(), v->slots.end(),
                          [&](std::uint64_t s) { return std::find(slots.begin(), slots.end(), s) != slots.end(); });
    });
    part.varying.assign(stays, order_.end());
    order_.erase(stays, order_.end());
    for (auto v = order_.begin() + before; v != order_.end(); ++v)
      (*v)->notes.push_back("hoisted: does not depend on the loop's rows, computed once");
    open_slots_.resize(open_slots_.size() - slots.size());
    part.result.row = part.result.table->row();
    co_return part;
  }

  plan_walk<vertex*> make_loop(const logical& n) {
    if (auto it = made_.find(&n); it != made_.end()) co_return it->second;
    check(n);
    std::vector<binding> outer = take_captures();
    branch start = co_await build(n.inputs[0]);
    std::vector<binding> start_captures = take_captures();

    // Each loop runs within the one around it.
    constexpr int most_loops = 64;
    if (loops_around_ == most_loops)
      detail::fail("do_while", "loops are nested more than " + std::to_string(most_loops) + " deep", n.where);
    ++loops_around_;
    std::vector<std::uint64_t> of_body{n.slot}, of_test{n.previous_slot, n.next_slot};
    part_of_loop body = co_await make_part(n.inputs[1], std::move(of_body)), test;
    if (n.inputs.size() > 2) test = co_await make_part(n.inputs[2], std::move(of_test));
    --loops_around_;

    for (const detail::user_function& f : n.functions)
      for (const auto& c : unbound(n, f)) co_await bind(*c);
    vertex* v = add_vertex();
    v->node = &n;
    v->inputs.push_back(std::move(start));
    v->captures = take_captures();
    v->captures.insert(v->captures.end(), start_captures.begin(), start_captures.end());
    captures_ = std::move(outer);
    v->body = std::move(body.varying);
    v->test = std::move(test.varying);
    v->body_result = body.result;
    v->test_result = test.result;
    finish(*v);
    std::set<std::uint64_t> slots(v->slots.begin(), v->slots.end());
    for (const vertex* w : v->body) slots.insert(w->slots.begin(), w->slots.end());
    for (const vertex* w : v->test) slots.insert(w->slots.begin(), w->slots.end());
    slots.erase(n.slot);
    slots.erase(n.previous_slot);
    slots.erase(n.next_slot);
    v->slots.assign(slots.begin(), slots.end());
    if (v->slots.empty()) made_[&n] = v;
    co_return v;
  }

  // Those that are yet to be bound to a table.
  captured_list unbound(const logical& n, const detail::user_function& f) const {
    captured_list some = captured_collections(n, f, options_.settings);
    std::erase_if(some, [&](const auto& c) { return c->owner || is_bound(*c); });
    return some;
  }
  bool is_bound(const detail::capture& c) const {
    return std::any_of(captures_.begin(), captures_.end(), [&](const binding& b) { return b.slot == c.slot; });
  }
  plan_walk<void> bind(const detail::capture& c) {
    if (is_bound(c)) co_return;
    if (auto it = bound_.find(c.slot); it != bound_.end()) {
      captures_.push_back({c.slot, it->second});
      co_return;
    }
    std::vector<binding> outer = take_captures();
    if (!c.plan)
      throw detail::unplaced_error(
          "a query within a function captures the rows of a lazy query around it, which other processes of a cluster do not have: "
          "capture a collection, query::broadcast(q.to_vector())");
    vertex* t = co_await make_table(*static_cast<const pipe*>(c.plan.get()));
    captures_ = std::move(outer);
    captures_.push_back({c.slot, t});
    if (t->slots.empty()) bound_[c.slot] = t;
  }

  void check(const logical& n) const {
    if (n.ordered_to == query::engine::gpu && !options_.gpu_status.empty())
      detail::fail("on", n.label + " is ordered to the GPU: " + options_.gpu_status +
                           "; write as_accelerated() to use a GPU only if there is one",
                   n.where);
    if (n.gpu_required && !options_.gpu_status.empty())
      detail::fail("require_gpu", options_.gpu_status + "; write as_accelerated() to use a GPU only if there is one",
                   n.where);
  }

  void add_slots(const branch& b, std::set<std::uint64_t>& s) const {
    if (b.source && b.source->what == verb::placeholder) s.insert(b.source->slot);
    if (b.table) s.insert(b.table->slots.begin(), b.table->slots.end());
    for (const stage& x : b.stages)
      if (x.build) s.insert(x.build->slots.begin(), x.build->slots.end());
  }
  void finish(vertex& v) {
    if (order_is_free(v)) free_order_.insert(&v);
    std::set<std::uint64_t> s;
    for (const branch& b : v.inputs) add_slots(b, s);
    for (const binding& c : v.captures) s.insert(c.table->slots.begin(), c.table->slots.end());
    v.slots.assign(s.begin(), s.end());
    v.accelerated = v.node ? v.node->accelerated : planner::accelerated(v.inputs.front());
    if (v.why.empty() && v.accelerated) v.why = options_.gpu_status;
    if (v.node && !v.node->checkpoint.empty()) v.notes.push_back("kept as the checkpoint \"" + v.node->checkpoint + "\"");
  }

  machine_graph& graph_;
  const plan_options& options_;
  const shared_rows& shared_;
  bool ordered_ = false;
  std::vector<binding> captures_;
  std::vector<std::uint64_t> open_slots_;
  std::vector<vertex*> order_;
  std::map<const void*, vertex*> made_;
  readers_found& known_;
  std::unordered_set<const logical*> probed_, found_now_;
  bool seen_again_ = false;
  bool again_ = false;
  std::map<std::tuple<const logical*, const detail::segment*, bool>, vertex*> tables_;
  std::map<std::uint64_t, vertex*> bound_;
  std::unordered_set<const vertex*> free_order_;
  int loops_around_ = 0;

 public:
  const std::vector<vertex*>& order() const { return order_; }
  // A verb was built before it was known how others read it: the graph is to be built anew.
  bool again() const { return again_; }
};

}  // namespace

std::unique_ptr<machine_graph> make_machine_graph(const pipe& root, std::string terminal, const plan_options& options) {
  auto g = std::make_unique<machine_graph>();
  g->root = root;
  g->terminal = std::move(terminal);
  g->no_gpu = options.gpu_status;
  const shared_rows shared(*root.node);
  readers_found known;
  for (bool again = true; again;) {
    g->vertices.clear();
    builder b(*g, options, shared, known);
    g->result = b.result_of(root);
    g->captures = b.take_captures();
    if (options.separate_result && !g->result.stages.empty()) b.separate_result();
    g->top.assign(b.order().begin(), b.order().end());
    again = b.again();
  }
  if (options.rewrite) apply_rules(*g, options);
  run_groups_by_expressions(*g);
  if (options.interpret) choose_forms(*g, interpreted_functions::all);
  else if (options.checked) choose_forms(*g, interpreted_functions::trapping);
  int number = 0;
  for (auto& v : g->vertices)
    for (branch& input : v->inputs) input.number = ++number;
  return g;
}

}  // namespace query::planner
