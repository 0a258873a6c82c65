#include "planner/join_condition.hpp"

#include <algorithm>

#include "ir/analysis.hpp"
#include "ir/visit.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner {

using ir::node;
using ir::op;

namespace {

// Functions that give the same bits wherever they are compiled.
bool is_exact(const node* call) {
  static constexpr std::string_view names[] = {"abs",  "min",   "max",   "floor",    "ceil",   "trunc",
                                               "sqrt", "isnan", "isinf", "isfinite", "signbit"};
  return !ir::is_floating(call->type->k) || std::find(std::begin(names), std::end(names), call->text) != std::end(names);
}

// Evaluated by the interpreter for rows whose other conjuncts may be false: nothing that can fail, and nothing that takes long. And it
// must be what the compiled condition computes: no products that a compiler adds to in one step, and no mathematics library's last bit.
bool never_fails(const node* root) {
  bool safe = !ir::divides_integers(root) && !rules::may_contract(root);
  ir::each_node(root, [&](const node* n) {
    switch (n->what) {
      case op::index:
      case op::collection:
      case op::nested:
      case op::loop:
      case op::aggregate: safe = false; break;
      case op::call:  // bits: a device function
        safe = safe && !n->bits && !ir::narrowed_part(n) && ir::is_arithmetic(n->type->k) && is_exact(n);
        break;
      // Beyond what the integer holds, each gives what it likes.
      case op::cast: safe = safe && (ir::is_floating(n->type->k) || !ir::is_floating(n->kids[0]->type->k)); break;
      default: break;
    }
  });
  return safe;
}

// The row that the expression reads: 0, 1, or -1 for none or both.
int only_row(const node* n) {
  const std::set<std::uint32_t> rows = ir::rows_used(n);
  return rows.size() == 1 && *rows.begin() < 2 ? static_cast<int>(*rows.begin()) : -1;
}

bool has_order(const node* n) { return ir::is_arithmetic(n->type->k) || n->type->k == ir::kind::string; }

using rules::mirrored;

class taking_apart {
 public:
  explicit taking_apart(join_condition& to) : to_(to) {}

  void run(const node* condition) {
    std::vector<const node*> parts;
    must_hold(condition, parts);
    // Tests first: a null that one of them rejects is no obstacle to a comparison.
    for (const node* part : parts)
      if (const int row = only_row(part); row >= 0) test(row, part);
    for (const node* part : parts) compare(part);
    // Trees over a value prune by one of its bounds: one with two is what right rows are best sorted by.
    const auto lies_between = [](const right_range& r) {
      const auto below = [](const bound_of_right& b) { return b.is == op::lt || b.is == op::le; };
      return std::any_of(r.bounds.begin(), r.bounds.end(), below) && !std::all_of(r.bounds.begin(), r.bounds.end(), below);
    };
    std::stable_partition(to_.ranges.begin(), to_.ranges.end(), lies_between);
  }

 private:
  // The condition's conjuncts in order; `if (!a) return false; return b;` has two as well.
  void must_hold(const node* all, std::vector<const node*>& parts) const {
    for (const node* part : ir::conjuncts(all)) {
      const bool left_out = part->what == op::select && part->kids[1]->what == op::literal && !(part->kids[1]->bits & 1);
      if (!left_out) {
        parts.push_back(part);
        continue;
      }
      parts.push_back(negated(part->kids[0]));
      must_hold(part->kids[2], parts);
    }
  }
  // A comparison, unless a NaN makes it false either way.
  const node* negated(const node* n) const {
    const op opposite = n->what == op::lt ? op::ge : n->what == op::le ? op::gt : n->what == op::gt ? op::le : op::lt;
    const bool ordered = mirrored(n->what) != n->what && !ir::is_floating(n->kids[0]->type->k) && has_order(n->kids[0]);
    if (ordered) return to_.made->put(opposite, n->type, {n->kids[0], n->kids[1]});
    if (n->what == op::ne && has_order(n->kids[0])) return to_.made->put(op::eq, n->type, {n->kids[0], n->kids[1]});
    return ir::make_not(*to_.made, n);
  }
  void test(int row, const node* part) {
    const node*& all = to_.tests[row];
    const node* both = all ? to_.made->put(op::logical_and, part->type, {all, part}) : part;
    if (never_fails(part) && !ir::takes_untested_values(both)) all = both;
  }

  void compare(const node* part) {
    if (part->what == op::logical_not) part = negated(part->kids[0]);
    const bool comparison = part->what == op::eq || mirrored(part->what) != part->what;
    if (!comparison || part->kids[0]->type != part->kids[1]->type || !has_order(part->kids[0])) return;
    const int first = only_row(part->kids[0]), second = only_row(part->kids[1]);
    if (first < 0 || second < 0 || first == second) return;
    const node* const left = value(0, part->kids[first == 0 ? 0 : 1]);
    const node* const right = value(1, part->kids[first == 0 ? 1 : 0]);
    if (!left || !right) return;
    if (part->what == op::eq) {
      to_.equal.push_back({left, right});
      return;
    }
    const auto known = std::find_if(to_.ranges.begin(), to_.ranges.end(), [&](const right_range& r) { return r.right == right; });
    right_range& range = known != to_.ranges.end() ? *known : to_.ranges.emplace_back(right_range{right, {}});
    range.bounds.push_back({first == 0 ? mirrored(part->what) : part->what, left});
  }

  // The side's value where its row passes the tests, and anything where it does not.
  const node* value(int row, const node* n) const {
    if (!never_fails(n)) return nullptr;
    if (!ir::takes_untested_values(n)) return n;
    if (!to_.tests[row]) return nullptr;
    const node* const nothing = to_.made->put(op::literal, n->type);
    const node* const tested = to_.made->put(op::select, n->type, {to_.tests[row], n, nothing});
    return ir::takes_untested_values(tested) ? nullptr : tested;
  }

  join_condition& to_;
};

// Without the tests around it.
std::string show_value(const join_condition& c, const node* n) {
  const bool tested = n->what == op::select && n->kids[0] == c.tests[1];
  return ir::show(tested ? n->kids[1] : n);
}

}  // namespace

join_condition take_apart(const detail::user_function& condition) {
  join_condition c;
  const ir::traced t = condition.trace();
  if (!t) {
    c.all_because = "the condition is opaque: " + t.reason;
    return c;
  }
  c.traced = t.owner;
  c.made = std::make_shared<ir::arena>();  // other threads may hold the trace
  taking_apart(c).run(t.root);
  if (!c.sorts())
    c.all_because = "no part of the condition that must hold compares a number or a string of the left row with one of the right row by "
                    "<, <=, >, >= or ==";
  return c;
}

std::string text_of(const join_condition& c) {
  if (!c.all_because.empty()) return "the condition is asked about every pair: " + c.all_because;
  std::string text;
  const auto add = [&](const node* n) { text += (text.empty() ? "" : ", ") + show_value(c, n); };
  for (const equal_values& e : c.equal) add(e.right);
  for (const right_range& r : c.ranges) add(r.right);
  return "right rows sorted by " + text + "; the condition is asked about the rows within the bounds of a left row";
}

}  // namespace query::planner
