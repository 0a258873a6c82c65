// Functions of the group that is all rows, of which there may be none.
#include <query/detail/aggregates_of_all.hpp>

#include <string>
#include <string_view>

#include <query/detail/failure.hpp>
#include <query/detail/traced_row.hpp>

namespace query::agg {

using ir::node;
using ir::op;

void no_value_of_no_rows(std::string_view record, std::string_view field) {
  throw detail::unplaced_error("there is no value for field '" + std::string(field) + "' of " + std::string(record) +
                               ", as there are no rows; make the field a std::optional");
}

const node* trace_of_all(const node* root, const ir::type* out) {
  if (root->type == out) return root;
  auto& a = ir::current_arena();
  if (out->k == ir::kind::optional) return out->element == root->type ? a.put(op::some, out, {root}) : root;
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
