// Taking traced records and arrays apart and putting them together again without leaving a trace.
#include <query/detail/traced_row.hpp>

namespace query::detail {

using ir::node;
using ir::op;

namespace {

std::size_t offset_of(const ir::type* t, std::size_t i) {
  return t->k == ir::kind::array ? i * t->element->size : t->field_list[i].offset;
}
const ir::type* type_of_part(const ir::type* t, std::size_t i) {
  return t->k == ir::kind::array ? t->element : t->field_list[i].of;
}
std::size_t parts_in(const ir::type* t) { return t->k == ir::kind::array ? t->count : t->field_list.size(); }

// The value that n is part number i of, or null.
const node* whole_of(const node* n, const ir::type* t, std::size_t i) {
  if (n->what == op::member || n->what == op::element) {
    const node* w = n->kids[0];
    return n->bits == i && w->type == t ? w : nullptr;
  }
  return nullptr;
}

}  // namespace

const node* row_node(const ir::type* t, std::uint32_t id) { return ir::current_arena().put(op::row, t, {}, 0, id); }

const node* part_of(const node* whole, std::size_t i) {
  const ir::type* t = whole->type;
  const ir::type* part = type_of_part(t, i);
  auto& a = ir::current_arena();
  if (whole->what == op::make) return whole->kids[i];
  if (whole->what == op::row || whole->what == op::field) {
    std::string path = whole->text;
    if (t->k == ir::kind::array) path += "[" + std::to_string(i) + "]";
    else path += (path.empty() ? "" : ".") + std::string(t->field_list[i].name);
    return a.put(op::field, part, {}, whole->bits + offset_of(t, i), whole->id, std::move(path));
  }
  return a.put(t->k == ir::kind::array ? op::element : op::member, part, {whole}, i);
}

const node* make_array(const ir::type* t, std::vector<const node*> kids) {
  auto& a = ir::current_arena();
  if (kids.size() == parts_in(t) && !kids.empty()) {
    // All parts of one computed value, in order: the value itself.
    if (const node* whole = whole_of(kids[0], t, 0)) {
      bool all = true;
      for (std::size_t i = 1; i < kids.size() && all; ++i) all = whole_of(kids[i], t, i) == whole;
      if (all) return whole;
    }
    // All parts of a place in a row: the row or the larger field.
    if (kids[0]->what == op::field) {
      const std::uint64_t base = kids[0]->bits - offset_of(t, 0);
      bool all = true;
      for (std::size_t i = 0; i < kids.size() && all; ++i)
        all = kids[i]->what == op::field && kids[i]->id == kids[0]->id && kids[i]->bits == base + offset_of(t, i) &&
              kids[i]->type == type_of_part(t, i);
      if (all) {
        // Only if it is a place of exactly this type: a V2 of the first two fields of a V3 is another value.
        const std::string& path = kids[0]->text;
        const std::size_t cut = t->k == ir::kind::array ? path.rfind('[') : path.rfind('.');
        node place;
        place.type = t;
        place.id = kids[0]->id;
        place.bits = base;
        place.what = cut != std::string::npos && cut > 0 ? op::field : op::row;
        if (place.what == op::field) place.text = path.substr(0, cut);
        if (const node* whole = a.find(place)) return whole;
      }
    }
    // Fields keep the record's own types: a literal of another width is cast.
    for (std::size_t i = 0; i < kids.size(); ++i)
      if (kids[i]->type != type_of_part(t, i) && ir::is_arithmetic(kids[i]->type->k) && ir::is_arithmetic(type_of_part(t, i)->k))
        kids[i] = ir::make_cast(a, kids[i], type_of_part(t, i));
  }
  node n;
  n.what = op::make;
  n.type = t;
  n.kids = std::move(kids);
  return a.put(std::move(n));
}

}  // namespace query::detail
