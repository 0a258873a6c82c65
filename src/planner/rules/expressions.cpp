#include "planner/rules/expressions.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/analysis.hpp"
#include "ir/group_function.hpp"
#include "ir/visit.hpp"

namespace query::planner::rules {

using ir::node;
using ir::op;

namespace {

bool floating(const node* n) { return ir::is_floating(n->type->k); }

bool contracts(const node* n) {
  if ((n->what != op::add && n->what != op::sub) || !floating(n)) return false;
  return std::any_of(n->kids.begin(), n->kids.end(), [](const node* k) { return k->what == op::mul || k->what == op::negate; });
}

}  // namespace

op mirrored(op comparison) {
  switch (comparison) {
    case op::lt: return op::gt;
    case op::le: return op::ge;
    case op::gt: return op::lt;
    case op::ge: return op::le;
    default: return comparison;
  }
}

bool may_contract(const node* root) {
  bool may = false;
  ir::each_node(root, [&](const node* n) { may = may || contracts(n); });
  return may;
}

bool same_when_interpreted(const node* root) {
  bool same = true;
  ir::each_node(root, [&](const node* n) {
    switch (n->what) {
      case op::div:
      case op::mod: same = same && floating(n); break;
      // These throw, loop, or need what is bound where they were written.
      case op::index:
      case op::value:
      case op::nested:
      case op::loop:
      case op::aggregate:
      case op::key:
      case op::variable:
      case op::collection:
      case op::shl:
      case op::shr: same = false; break;
      // The mathematics library that each of the two calls may differ in the last bit.
      case op::call: same = same && !floating(n); break;
      default: same = same && !contracts(n);
    }
  });
  return same;
}

bool same_for_equal_keys(const node* root) {
  bool reads_floats = false, tells_apart = false;
  ir::each_node(root, [&](const node* n) {
    if ((n->what == op::field || n->what == op::row) && !(ir::is_arithmetic(n->type->k) && !floating(n)) && n->type->k != ir::kind::string)
      reads_floats = true;
    if ((n->what == op::div && floating(n)) || n->what == op::call) tells_apart = true;
  });
  return !(reads_floats && tells_apart);
}

bool reads_only_key(const node* predicate, const node* key) {
  std::vector<ir::row_field> parts;
  const auto add = [&](const node* n) {
    if (const auto f = ir::is_row_field(n)) parts.push_back(*f);
  };
  add(key);
  if (key->what == op::make) {
    const auto fields = key->type->fields();
    for (std::size_t i = 0; i < fields.size() && i < key->kids.size(); ++i)
      if (key->kids[i]->type == fields[i].of) add(key->kids[i]);  // a part that is converted is another value
  }

  bool only = true;
  ir::each_node(predicate, [&](const node* n) {
    const std::optional<ir::row_field> read = ir::is_row_field(n);
    if (!read || read->row > 1) return;
    only = only && std::any_of(parts.begin(), parts.end(), [&](const ir::row_field& p) {
      return p.row == read->row && p.offset <= read->offset && read->offset + read->type->size <= p.offset + p.type->size;
    });
  });
  return only;
}

const node* fields_first(ir::arena& a, const node* root) {
  if (root->what != op::select) return root;
  std::unordered_map<const node*, const node*> known;
  const auto of_select = [&](const node* n) -> const node* {
    const node *x = known.at(n->kids[1]), *y = known.at(n->kids[2]);
    if (x->what != op::make || y->what != op::make || x->type != y->type || x->kids.size() != y->kids.size()) return n;
    node made;
    made.what = op::make;
    made.type = n->type;
    for (std::size_t i = 0; i < x->kids.size(); ++i) {
      if (x->kids[i]->type != y->kids[i]->type) return n;
      made.kids.push_back(ir::make_select(a, n->kids[0], x->kids[i], y->kids[i]));
    }
    return a.put(std::move(made));
  };
  ir::each_node(root, [&](const node* n) { known.emplace(n, n->what == op::select ? of_select(n) : n); });
  return known.at(root);
}

bool is_whole_row(const ir::traced& t) { return t && t.root->what == op::row && t.root->id == 0; }

std::vector<const node*> aggregates_in(const node* group_function) {
  std::vector<const node*> found;
  ir::each_node(group_function, [&](const node* n) {
    if (n->what == op::aggregate) found.push_back(n);
  });
  return found;
}

bool alike_where_equal(const ir::type* t) {
  switch (t->k) {
    case ir::kind::opaque:
    case ir::kind::f32:
    case ir::kind::f64: return false;
    case ir::kind::record:
      return std::all_of(t->field_list.begin(), t->field_list.end(), [](const ir::field& f) { return alike_where_equal(f.of); });
    case ir::kind::array:
    case ir::kind::optional:
    case ir::kind::list: return alike_where_equal(t->element);
    default: return true;
  }
}

bool ignores_order(const node* aggregate) {
  const std::string& name = aggregate->text;
  if (name == "count" || name == "count_if" || name == "any" || name == "all" || name == "count_distinct" ||
      name == "approx_count_distinct")
    return true;
  if (name != "sum" && name != "mean" && name != "min" && name != "max" && name != "median" && name != "quantile") return false;
  // Sums of floats depend on the order in their last bits, minima by the sign of zero.
  const ir::type* t = aggregate->kids.empty() ? nullptr : aggregate->kids.front()->type;
  if (t && t->k == ir::kind::optional) t = t->element;
  if (t && name == "mean" && ir::is_floating(ir::kind_of_mean_sum(t->k))) return false;
  return t && (ir::is_integer(t->k) || t->k == ir::kind::boolean);
}

}  // namespace query::planner::rules
