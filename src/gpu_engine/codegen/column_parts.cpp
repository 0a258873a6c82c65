#include "gpu_engine/codegen/column_parts.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "ir/analysis.hpp"

namespace query::gpu_engine {

std::string place_in_input(kernel_source& k, const planner::branch& b, const input_layout& in, const ir::node* value) {
  if (value->what != ir::op::field && value->what != ir::op::row) return {};
  std::vector<const detail::logical*> selects;
  for (const planner::stage& s : b.stages) {
    if (s.what != planner::stage::kind::rowwise) return {};
    for (const detail::logical* n : s.nodes)
      if (n->what != detail::verb::where) selects.push_back(n);
  }
  ir::arena made;
  std::vector<ir::traced> traces;  // keep the nodes alive
  const ir::node* now = value;
  for (auto n = selects.rbegin(); n != selects.rend(); ++n) {
    if ((*n)->what != detail::verb::select) return {};
    traces.push_back(k.trace(**n, (*n)->functions.front()));
    const ir::node* root = traces.back().root;
    if (!same_shape(root->type, (*n)->row)) return {};  // converted on the way
    now = ir::substitute(made, now, std::array{root});
    if (!now) return {};
  }
  const auto part = ir::is_row_field(now);
  if (!part || part->row != 0 || !same_shape(now->type, value->type)) return {};
  for (std::uint32_t c = 0; c < in.columns.size(); ++c) {
    const input_column& column = in.columns[c];
    if (column.counted) continue;
    if (part->offset < column.offset || part->offset + now->type->size > column.offset + column.type->size) continue;
    const std::string pointer = k.parameter({word::role::column, 0, c, 0}, "const " + k.type_name(column.type) + "* __restrict__");
    return pointer + "[i]" + path_to(column.type, part->offset - column.offset, now->type);
  }
  return {};
}

namespace {

bool has_any_of(const std::vector<column_source>& columns, const ir::field& f) {
  return std::any_of(columns.begin(), columns.end(), [&](const column_source& c) {
    return c.offset < f.offset + f.of->size && f.offset < c.offset + c.type->size;
  });
}

}  // namespace

std::string expressions::part_of(const row_source& r, std::size_t offset, const ir::type* t, kernel_source& k) {
  if (r.what == row_source::form::value) return r.text + path_to(r.type, offset, t);
  for (const column_source& c : r.columns)
    if (offset >= c.offset && offset + t->size <= c.offset + c.type->size)
      return c.pointer + "[" + r.text + "]" + path_to(c.type, offset - c.offset, t);
  // Its parts lie in several columns.
  if (t->k == ir::kind::record || t->k == ir::kind::array) {
    const bool record = t->k == ir::kind::record;
    const std::size_t n = record ? t->field_list.size() : t->count;
    std::string all = k.type_name(t) + "{";
    if (!record) {
      all += "{";
      for (std::size_t i = 0; i < n; ++i) all += (i ? ", " : "") + part_of(r, offset + i * t->element->size, t->element, k);
      return all + "}}";
    }
    // Of whole rows, fields that were not brought are those that nobody reads (fields_wanted): zeros.
    const bool whole = offset == 0 && same_shape(t, r.type);
    // In the order of memory, which is that of the members: a tuple's last element comes first.
    for (const std::size_t i : fields_by_offset(t)) {
      if (whole && !has_any_of(r.columns, t->field_list[i])) continue;
      all += std::string(all.back() == '{' ? "" : ", ") + ".f" + std::to_string(i) + " = " +
             part_of(r, offset + t->field_list[i].offset, t->field_list[i].of, k);
    }
    return all + "}";
  }
  throw not_generated("a field that was not brought to the device");
}

std::string expressions::wide_part_of(const row_source& r, std::size_t offset, const ir::type* t, kernel_source& k) {
  if (t->k != ir::kind::array || !ir::is_arithmetic(t->element->k) || t->size < 16 || t->size > 256 || t->count > most_unrolled) return {};
  std::size_t align = r.align;
  if (r.what == row_source::form::value) {
    align = same_on_device(r.type) ? std::min(align, alignment_of_stride(offset | 16)) : 0;
  } else {
    for (const column_source& c : r.columns)
      if (offset >= c.offset && offset + t->size <= c.offset + c.type->size && same_on_device(c.type))
        align = std::min(alignment_of_stride(device_layout(c.type).size), alignment_of_stride((offset - c.offset) | 16));
  }
  if (align < 8) return {};
  return "load_wide<" + std::to_string(align) + ">(" + part_of(r, offset, t, k) + ")";
}

bool expressions::read_in_place(const row_source& r, std::size_t offset, const ir::type* t) {
  if (ir::is_arithmetic(t->k) || t->k == ir::kind::string) return false;
  if (r.what == row_source::form::value) return true;
  // A loop that goes round would find the copy of a long array in memory as well.
  return t->k == ir::kind::array && t->count > most_unrolled &&
         std::any_of(r.columns.begin(), r.columns.end(),
                     [&](const column_source& c) { return offset >= c.offset && offset + t->size <= c.offset + c.type->size; });
}

std::size_t alignment_of_stride(std::size_t n) {
  std::size_t a = 1;
  while (a < 16 && n % (2 * a) == 0) a *= 2;
  return a;
}

}  // namespace query::gpu_engine
