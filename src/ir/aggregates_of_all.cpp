// Functions of the group that is all rows, of which there may be none.
#include <query/detail/aggregates_of_all.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <ir/visit.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/traced_row.hpp>

namespace query::agg {

using ir::node;
using ir::op;

namespace {

// Does the compiled function give a std::optional because of this?
bool needs_rows(const node* root) {
  constexpr std::string_view names[] = {"mean", "min", "max", "arg_min", "arg_max", "median", "quantile"};
  bool needs = false;
  ir::each_node(root, [&](const node* n) {
    needs = needs || (n->what == op::aggregate && !n->kids.empty() && n->kids[0]->type->k != ir::kind::optional &&
                      std::find(std::begin(names), std::end(names), n->text) != std::end(names));
  });
  return needs;
}

}  // namespace

void no_value_of_no_rows(std::string_view record, std::string_view field) {
  throw detail::unplaced_error("there is no value for field '" + std::string(field) + "' of " + std::string(record) +
                               ", as there are no rows; make the field a std::optional");
}

const node* trace_of_all(const node* root, const ir::type* out) {
  if (root->type == out || !needs_rows(root)) return root;
  auto& a = ir::current_arena();
  if (out->k == ir::kind::optional) return a.put(op::some, out, {root});
  const auto is_record = [&](const ir::type* t) { return t->k == ir::kind::record && t->field_list.size() == out->field_list.size(); };
  if (!is_record(out) || !is_record(root->type)) return root;
  node parts;
  parts.what = op::make;
  parts.type = out;
  for (std::size_t i = 0; i < out->field_list.size(); ++i)
    parts.kids.push_back(trace_of_all(detail::part_of(root, i), out->field_list[i].of));
  return a.put(std::move(parts));
}

}  // namespace query::agg
