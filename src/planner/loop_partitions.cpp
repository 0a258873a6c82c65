#include "planner/loop_partitions.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "planner/known_sizes.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner {

using detail::verb;

namespace {

bool is_loop(const vertex& v) { return v.node && v.node->what == verb::do_while; }

// A table of what it reads, but for rows that a filter leaves out, and with what is made of each.
bool holds_as_it_is(const vertex& v) { return !v.node && !v.moves && v.limit == ~0ull && v.inputs.size() == 1; }

// The same whatever the order of the rows, but for the last bits of sums.
bool is_unordered(const vertex& aggregate) {
  const ir::traced t = aggregate.node->functions.back().trace();
  if (!t) return false;
  const auto all = rules::aggregates_in(t.root);
  return std::all_of(all.begin(), all.end(), [](const ir::node* n) {
    return n->text == "sum" || n->text == "mean" || rules::ignores_order(n);
  });
}

std::string why_in_one(const vertex& loop, bool within_another, const cluster_options& options) {
  const logical& n = *loop.node;
  if (within_another) return "the loop runs within another";
  if (!n.checkpoint.empty()) return "the first process writes its checkpoints";
  if (n.loop_test) return "the condition is a function that is given all of its rows";
  if (loop.ordered) return "its order was asked for, as_ordered()";
  if (!loop.body_result.table || rules::numbers_rows(loop.inputs.front())) return "its rows are numbered";
  if (!options.can_travel(*loop.row())) return "its rows cannot be sent";
  const std::uint64_t rows = most_rows(loop.inputs.front());
  if (rows <= options.most_broadcast / std::max<std::size_t>(loop.row()->size, 1)) return "it is small";
  return {};
}

}  // namespace

loop_partitions::loop_partitions(const machine_graph& g, const cluster_options& options) {
  std::unordered_set<const vertex*> within;
  for (const auto& v : g.vertices)
    if (is_loop(*v))
      for (const auto* list : {&v->body, &v->test}) within.insert(list->begin(), list->end());
  for (const auto& v : g.vertices) {
    if (!is_loop(*v)) continue;
    const logical& n = *v->node;
    loop_placement p;
    p.why = why_in_one(*v, within.contains(v.get()), options);
    p.divided = p.why.empty();
    all_[&n] = std::move(p);
    if (!all_[&n].divided) continue;
    for (const std::uint64_t slot : {n.slot, n.previous_slot, n.next_slot}) by_slot_[slot] = &n;
  }
}

variable_keys loop_partitions::keys_with(const logical& loop, const detail::user_function& key) const {
  variable_keys all = keys_;
  for (const std::uint64_t slot : {loop.slot, loop.previous_slot, loop.next_slot}) all[slot] = &key;
  return all;
}

// A copy: the verb may be one that was made for a placing that is given up.
void loop_partitions::lie_by(const logical& loop, const logical* verb) {
  loop_placement& p = all_.at(&loop);
  p.placed = true;
  if (!verb) return;
  p.by = std::make_shared<logical>(*verb);
  keys_ = keys_with(loop, p.by->functions.front());
}

const logical* loop_partitions::divided_variable(const branch& b) const {
  if (!b.source || b.source->what != verb::placeholder) return nullptr;
  const auto found = by_slot_.find(b.source->slot);
  return found != by_slot_.end() && all_.at(found->second).divided ? found->second : nullptr;
}

const logical* loop_partitions::begins_with_variable(const branch& b) const {
  const branch* at = &b;
  while (at->table && holds_as_it_is(*at->table)) at = &at->table->inputs.front();
  return divided_variable(*at);
}

bool loop_partitions::choose_key(const vertex& loop, const machine_graph& g) {
  branch given;
  given.table = loop.body_result.table;
  given.row = loop.row();
  std::vector<const vertex*> readers;
  for (const auto& w : g.vertices)
    for (const branch& b : w->inputs)
      if (begins_with_variable(b) == loop.node && !holds_as_it_is(*w)) readers.push_back(w.get());
  for (const vertex* x : readers) {
    if (x->moves != exchange::hash || x->node->has_own_equality() || x->inputs.front().row != loop.row()) continue;
    const detail::user_function& key = x->node->functions.front();
    const variable_keys keys = keys_with(*loop.node, key);
    const auto stays = [&](const vertex* r) {
      if (r->moves == exchange::gather && r->node) return is_unordered(*r);
      return r->moves == exchange::hash &&
             lie_right(r->inputs.front(), r->inputs.front().stages.size(), r->node->functions.front(),
                       sends_states(*r) ? wanted_rows::together : wanted_rows::by_hash, true, keys);
    };
    if (!lie_right(given, 0, key, wanted_rows::by_hash, true, keys_) || !std::all_of(readers.begin(), readers.end(), stays)) continue;
    lie_by(*loop.node, x->node);
    return true;
  }
  lie_by(*loop.node, nullptr);
  return false;
}

}  // namespace query::planner
