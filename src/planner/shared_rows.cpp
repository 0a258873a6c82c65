#include "planner/shared_rows.hpp"

#include <algorithm>

#include <query/detail/binding.hpp>
#include <query/detail/together.hpp>

#include "planner/function_captures.hpp"
#include "planner/known_sizes.hpp"
#include "planner/prefix_segment.hpp"

namespace query::planner {

using detail::verb;

namespace {

// Whether a function between the verb and the rows that its row-wise verbs begin with is opaque.
bool is_opaque(const logical& last) {
  for (const logical* n = &last; detail::row_wise(n->what); n = n->inputs.front().node.get())
    for (const detail::user_function& f : n->functions)
      if (!trace_of(*n, f)) return true;
  return false;
}
bool begins_with_stream(const logical& last) {
  const logical* n = &last;
  while (detail::row_wise(n->what) || n->what == verb::join) n = n->inputs.front().node.get();
  return n->what == verb::source_stream && !n->count;
}

}  // namespace

shared_rows::shared_rows(const logical& root) {
  if (!detail::are_together(root)) return;
  open_.push_back(&root);
  while (!open_.empty()) {
    const logical& n = *open_.back();
    open_.pop_back();
    // What a loop's rounds compute belongs to the loop.
    const std::size_t inputs = n.what == verb::do_while ? 1 : n.inputs.size();
    for (std::size_t i = 0; i < inputs; ++i) visit(n.inputs[i], &n);
    for (const detail::user_function& f : n.functions)
      for (const auto& c : f.captures)
        if (c->plan) visit(*static_cast<const pipe*>(c->plan.get()), &n);
  }
  const bool to_the_end = detail::are_for_report(root);
  for (const auto& [n, readers] : readers_)
    if (readers.size() > 1 && detail::row_wise(n->what) && (to_the_end || !begins_with_stream(*n)) && is_opaque(*n)) shared_.insert(n);
}

void shared_rows::visit(const pipe& p, const logical* reader) {
  const logical* const n = p.node.get();
  std::unordered_set<const logical*>& readers = readers_[n];
  if (readers.empty()) open_.push_back(n);
  readers.insert(reader);
  for (const pipe* loop = &p; loop->native; loop = &loop->native->origin) loops_.emplace(loop->node.get(), loop);
}

const logical* shared_rows::last_of(const pipe& p) const {
  if (shared_.empty()) return nullptr;
  const logical* const first = p.native->origin.node.get();
  for (const logical* n = p.node.get(); n != first && detail::row_wise(n->what); n = n->inputs.front().node.get()) {
    if (shared_.contains(n) && (n == p.node.get() || loops_.contains(n))) return n;
    if (!runs_alone(*n)) return nullptr;
    if (shared_.contains(n)) {
      const logical* m = n;
      while (m != first && detail::row_wise(m->what) && runs_alone(*m)) m = m->inputs.front().node.get();
      return m == first || !detail::row_wise(m->what) ? n : nullptr;
    }
  }
  return nullptr;
}

const pipe& shared_rows::loop_of(const logical& n, const pipe& p) const {
  const auto known = loops_.find(&n);
  return known == loops_.end() ? p : *known->second;
}

}  // namespace query::planner
