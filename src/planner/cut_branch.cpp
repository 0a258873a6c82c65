#include "planner/cut_branch.hpp"

#include <algorithm>

#include <query/detail/binding.hpp>

#include "ir/analysis.hpp"

namespace query::planner {

namespace {

// Cuts a stage into its first n verbs and the others.
stage cut_off(stage& s, std::size_t n) {
  stage first = s;
  first.nodes.resize(n);
  first.out = first.nodes.back()->row;
  s.nodes.erase(s.nodes.begin(), s.nodes.begin() + static_cast<std::ptrdiff_t>(n));
  s.in = first.out;
  if (const std::size_t known = s.native_because.size(); known > n) {
    first.native_because.resize(n);
    s.native_because.erase(s.native_because.begin(), s.native_because.begin() + static_cast<std::ptrdiff_t>(n));
  }
  for (stage* x : {&first, &s}) {
    x->native = nullptr;
    x->speculate = false;
    if (x->how == form::native) x->how = form::thunks;
  }
  return first;
}

}  // namespace

slot_set captured_by(const detail::user_function& f) {
  slot_set all;
  for (const auto& c : f.captures) all.insert(c->slot);
  const detail::capture_recorder recorder;
  (void)f.trace();
  for (const auto& c : recorder.found()) all.insert(c->slot);
  return all;
}
slot_set captured_by(const logical& n) {
  slot_set all;
  for (const detail::user_function& f : n.functions) all.merge(captured_by(f));
  return all;
}
slot_set captured_by(const prefilter& f) {
  if (f.function) return captured_by(*f.function);
  const std::vector<std::uint64_t> slots = ir::captures(f.expression.root);
  return {slots.begin(), slots.end()};
}

bool can_cut(const stage& s) {
  if (s.native && s.native->needs_position()) return false;
  return std::all_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) {
    const detail::native_calls& f = n->functions.front().native;
    return f.map || f.filter || f.expand;
  });
}

branch cut_branch(branch& b, std::size_t stages, std::size_t verbs, vertex* table) {
  branch first = b;
  first.stages.resize(stages);
  b.stages.erase(b.stages.begin(), b.stages.begin() + static_cast<std::ptrdiff_t>(stages));
  if (verbs) first.stages.push_back(cut_off(b.stages.front(), verbs));
  first.row = !first.stages.empty() ? first.stages.back().out : first.table ? first.table->row() : first.source->row;
  b.source = nullptr;
  b.table = table;
  b.prefilters.clear();
  b.wanted.clear();
  return first;
}

std::vector<std::uint64_t> slots_of(const branch& b, const std::vector<binding>& captures) {
  slot_set all;
  const auto add = [&](const vertex* t) {
    if (t) all.insert(t->slots.begin(), t->slots.end());
  };
  if (b.source && b.source->what == detail::verb::placeholder) all.insert(b.source->slot);
  add(b.table);
  for (const stage& s : b.stages) add(s.build);
  for (const binding& c : captures) add(c.table);
  return {all.begin(), all.end()};
}

}  // namespace query::planner
