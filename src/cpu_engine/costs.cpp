// What the CPU engine expects work to take.
#include "cpu_engine/costs.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/analysis.hpp"

namespace query::runtime {

namespace {

// In plain operations, of vectors of doubles: from runs on Xeons.
constexpr double plain_a_quotient = 24, plain_a_root = 24;
constexpr double plain_a_function = 1, plain_a_fold = 2;

constexpr double bytes_of_a_thread = 6e9;  // a second, that one thread reads and writes
// Threads share rows by parts of so many; fewer threads than there are get more done each.
constexpr double rows_of_a_part = 1 << 16, part_of_a_thread = 0.6;
// Memory that the process holds already costs less to fill than memory that the system must give it first.
constexpr double bytes_at_hand = 1 << 20, cost_at_hand = 0.25;

// How much longer rows take that are too few for all threads.
double idle_threads(const host_rates& r, double rows) {
  return std::max(1.0, r.threads * part_of_a_thread / std::max(1.0, rows / rows_of_a_part));
}
double collected(double bytes) { return std::min(bytes, bytes_at_hand) * cost_at_hand + std::max(0.0, bytes - bytes_at_hand); }

class counting {
 public:
  explicit counting(row_expressions& to) : to_(&to) {}
  bool add(const ir::node* root) {
    std::vector<const ir::node*> open{root};  // without recursion: unrolled loops make deep trees
    while (!open.empty()) {
      const ir::node* n = open.back();
      open.pop_back();
      if (!n || !seen_.insert(n).second) continue;
      if (!add_one(n)) return false;
      open.insert(open.end(), n->kids.begin(), n->kids.end());
    }
    return true;
  }

 private:
  bool add_one(const ir::node* n) {
    switch (n->what) {
      case ir::op::nested:
      case ir::op::loop:
      case ir::op::aggregate:
      case ir::op::collection:
        return false;
      case ir::op::div:
      case ir::op::mod:
        ++to_->quotients;
        break;
      case ir::op::call:
        if (ir::narrowed_part(n)) {
          ++to_->plain;
          break;
        }
        if (!ir::is_floating(n->type->k)) return false;  // of strings
        ++(n->text == "sqrt" ? to_->roots : n->text == "abs" || n->text == "min" || n->text == "max" ? to_->plain : to_->calls);
        break;
      default:
        to_->plain += ir::costs_nothing(n->what) ? 0 : 1;
        break;
    }
    return true;
  }

  row_expressions* to_;
  std::unordered_set<const ir::node*> seen_;
};

bool add(row_expressions& to, const ir::traced& t) {
  to.plain += plain_a_function;
  return t && counting(to).add(t.root);
}

}  // namespace

std::optional<row_expressions> row_expressions_of(const planner::branch& b) {
  row_expressions e;
  e.plain = plain_a_fold;
  for (const planner::prefilter& p : b.prefilters)
    if (!add(e, p.expression ? p.expression : p.function->trace())) return std::nullopt;
  for (const planner::stage& s : b.stages)
    for (const detail::logical* v : s.nodes)
      if (v->functions.empty() || !add(e, v->functions.front().trace())) return std::nullopt;
  return e;
}

double seconds_a_row(const host_rates& r, const row_expressions& e) {
  return (e.plain + e.quotients * plain_a_quotient + e.roots * plain_a_root) * r.plain_operation + e.calls * r.call;
}

}  // namespace query::runtime

namespace query::cpu {

using namespace runtime;

std::optional<double> cpu_costs::operations(const planner::branch& b) const {
  const std::optional<row_expressions> e = row_expressions_of(b);
  if (!e) return std::nullopt;
  return seconds_a_row(*rates_(), *e) / rates_()->row[static_cast<std::size_t>(operation::row_wise)];
}

double cpu_costs::seconds(const work& w, const work_terms&) const {
  const host_rates& r = *rates_();
  double s = r.start + w.one_thread / bytes_of_a_thread, memory = w.on_host / r.host_memory;
  for (const step& x : w.steps) {
    const bool collects = x.what == operation::collect;
    const double units = x.what == operation::row_wise ? x.rows * x.operations : collects ? collected(x.result) : x.rows;
    const double shared = collects ? 1 : idle_threads(r, x.parts > 0 ? x.parts : x.rows);
    const double computing = units * shared * r.row[static_cast<std::size_t>(x.what)];
    // The first step reads the host's rows as it goes.
    s += std::max(computing, memory);
    memory = 0;
  }
  return s + memory;
}

}  // namespace query::cpu
