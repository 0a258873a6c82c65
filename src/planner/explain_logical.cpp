// The logical plan as text: verbs in the order in which they were written, with the expressions and kinds of their functions.
//
//   query
//     vector of Trade                              @plan.cpp:10
//     where                                        @plan.cpp:11
//       predicate: (qty > 100)                     traced
#include <algorithm>
#include <unordered_set>

#include <query/detail/binding.hpp>
#include <query/detail/together.hpp>

#include "ir/device_function.hpp"
#include "planner/explain_text.hpp"
#include "planner/names.hpp"
#include "planner/plan_walk.hpp"

namespace query::planner {

using detail::verb;

namespace {

class writer {
 public:
  explicit writer(text& to) : to_(to) {}

  plan_walk<void> chain(const logical& n, int depth) {
    const bool first_time = written_.insert(&n).second;
    if (!first_time && !n.inputs.empty()) {
      to_.line(depth, "the rows of " + verb_of(n) + ", as above", place(n));
      co_return;
    }
    if (n.inputs.empty()) {
      to_.line(depth,
               n.what == verb::source_file ? n.label + " of " + std::string(n.row->name)
                                           : source_text(n) + accelerated(n) + fast_math(n) + name(n),
               place(n));
      co_return;
    }
    if (detail::are_together(n)) {
      to_.line(depth, n.label, place(n));
      int number = 0;
      for (const auto& c : n.functions.front().captures) {
        to_.line(depth + 1, "query " + std::to_string(++number) + ":");
        co_await chain(*static_cast<const pipe*>(c->plan.get())->node, depth + 2);
      }
      co_return;
    }
    co_await chain(*n.inputs.front().node, depth);
    to_.line(depth, verb_of(n) + words(n) + name(n), place(n));
    const bool only_lists = n.all && (n.what == verb::chunk || n.what == verb::window);  // by no function of the user's
    for (const detail::user_function& f : n.functions)
      if (!only_lists) co_await function(f, n, depth + 1);
    for (std::size_t i = 1; i < n.inputs.size(); ++i) {
      to_.line(depth + 1, title(n, i));
      co_await chain(*n.inputs[i].node, depth + 2);
    }
  }

 private:
  static std::string place(const logical& n) { return n.where.line ? "@" + planner::place_of(n.where) : ""; }  // an empty Query has none
  static std::string name(const logical& n) { return n.name.empty() ? "" : " \"" + n.name + "\""; }
  // At the verb that the user called it on; the verbs above it are accelerated too.
  static std::string accelerated(const logical& n) {
    const auto below = [](const detail::pipe& p) { return p.node->accelerated; };
    const bool said_here = n.accelerated && std::none_of(n.inputs.begin(), n.inputs.end(), below);
    return said_here && !n.gpu_required && n.ordered_to != query::engine::gpu ? ", accelerated" : "";
  }
  static std::string fast_math(const logical& n) {
    const bool below = std::any_of(n.inputs.begin(), n.inputs.end(), [](const detail::pipe& p) { return p.node->fast_math; });
    return n.fast_math && !below ? ", fast math on the GPU" : "";
  }
  static std::string words(const logical& n) {
    std::string w;
    if (n.ordered) w += ", as ordered";
    w += accelerated(n);
    if (n.gpu_required) w += ", GPU required";
    w += fast_math(n);
    if (n.ordered_to) w += *n.ordered_to == query::engine::gpu ? ", on the GPU" : ", on the CPU";
    if (n.gpu_call) w += ", with a form for the GPU";
    if (n.has_own_equality()) w += ", by the user's own equality";
    return w;
  }
  static std::string title(const logical& n, std::size_t input) {
    if (n.what == verb::do_while) return input == 1 ? "body:" : "condition:";
    return "with:";
  }
  static std::string order(const logical& n, const detail::user_function& f) {
    std::size_t i = 0;
    while (i < n.functions.size() && &n.functions[i] != &f) ++i;
    if (i >= n.order.size()) return {};
    std::string o = n.order[i].descending ? ", descending" : "";
    if (n.order[i].nulls_first) o += ", nulls first";
    if (n.order[i].custom.less) o += ", in the user's own order";
    return o;
  }
  plan_walk<void> function(const detail::user_function& f, const logical& n, int depth) {
    const ir::traced t = f.trace();
    const std::string role(f.role);
    if (f.device)
      to_.line(depth, role + ": " + detail::function_of(*f.device).symbol + order(n, f),
               "accelerated, by " + std::string(detail::name_of(detail::function_of(*f.device).form)));
    else if (t) to_.wrapped(depth, role + ": " + shown(t, std::string::npos) + order(n, f), "traced");
    else to_.line(depth, role + order(n, f) + ": opaque: " + t.reason, place(n));
    for (const auto& c : f.captures)
      to_.line(depth + 1, c->owner ? "captures " + std::to_string(c->size) + " rows of " + std::string(c->element->name)
                                   : "captures the rows of a query of " + std::string(c->element->name));
    for (const auto& c : f.captures)
      if (c->plan) co_await chain(*static_cast<const pipe*>(c->plan.get())->node, depth + 2);
  }

  text& to_;
  std::unordered_set<const logical*> written_;
};

}  // namespace

void explain_logical(const machine_graph& g, text& to) {
  to.line(0, g.terminal.empty() ? "query" : "query, for " + g.terminal);
  writer w(to);
  run(w.chain(*g.root.node, 1));
}

}  // namespace query::planner
