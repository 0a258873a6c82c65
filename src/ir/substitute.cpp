// Moves an expression to another place in the plan: rows become the expressions that make them.
#include <ir/analysis.hpp>

#include <unordered_map>

#include <ir/visit.hpp>

namespace query::ir {
namespace {

struct found_part {
  std::size_t number;
  const type* of;
  std::size_t offset;
};

// The part of a record or array that covers `size` bytes from `offset`.
std::optional<found_part> part_at(const type* t, std::size_t offset, std::size_t size) {
  if (t->k == kind::array && t->element->size > 0) {
    const std::size_t i = offset / t->element->size;
    if (i >= t->count || offset + size > (i + 1) * t->element->size) return std::nullopt;
    return found_part{i, t->element, i * t->element->size};
  }
  const auto fields = t->fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (offset >= fields[i].offset && offset + size <= fields[i].offset + fields[i].of->size)
      return found_part{i, fields[i].of, fields[i].offset};
  return std::nullopt;
}

bool same(const type* a, const type* b) { return a == b || (is_arithmetic(a->k) && a->k == b->k); }

std::string joined(std::string path, const type* t, const found_part& p) {
  if (t->k == kind::array) {
    path += '[';
    path += std::to_string(p.number);
    path += ']';
    return path;
  }
  if (!path.empty()) path += '.';
  path += t->field_list[p.number].name;
  return path;
}

// What lies at `offset` of the row that `whole` makes, as a value of type `wanted`.
const node* part_of(arena& a, const node* whole, std::size_t offset, const type* wanted) {
  while (!(offset == 0 && same(whole->type, wanted))) {
    const type* t = whole->type;
    const auto p = part_at(t, offset, wanted->size);
    if (!p) return nullptr;
    if (whole->what == op::make) {
      whole = whole->kids[p->number];
      if (!same(whole->type, p->of)) {
        // A part is converted to the field's type when the record is made.
        if (!is_arithmetic(whole->type->k) || !is_arithmetic(p->of->k)) return nullptr;
        whole = make_cast(a, whole, p->of);
      }
    } else if (whole->what == op::row || whole->what == op::field) {
      const std::size_t at = (whole->what == op::field ? whole->bits : 0) + p->offset;
      whole = a.put(op::field, p->of, {}, at, whole->id, joined(whole->text, t, *p));
    } else {
      whole = a.put(t->k == kind::array ? op::element : op::member, p->of, {whole}, p->number);
    }
    offset -= p->offset;
  }
  return whole;
}

// Builds `body` anew, leaves by `leaf` (null: as it is, with `failed` set: impossible).
template <class Leaf> const node* rebuild(arena& a, const node* body, Leaf leaf) {
  std::unordered_map<const node*, const node*> made;
  bool failed = false;
  each_node(body, [&](const node* n) {
    if (failed) return;
    if (n->what == op::row || n->what == op::field) {
      const node* to = leaf(n);
      failed = to == nullptr;
      made.emplace(n, to);
      return;
    }
    node copy = *n;
    for (const node*& k : copy.kids) k = made.at(k);
    // Constants may have come in: simplify as the tracer does.
    if (n->what == op::select) made.emplace(n, make_select(a, copy.kids[0], copy.kids[1], copy.kids[2]));
    else if (n->what == op::logical_not) made.emplace(n, make_not(a, copy.kids[0]));
    else if (n->what == op::cast) made.emplace(n, make_cast(a, copy.kids[0], n->type));
    else if ((n->what == op::member || n->what == op::element) && copy.kids[0]->what == op::make && n->bits < copy.kids[0]->kids.size() &&
             same(copy.kids[0]->kids[n->bits]->type, n->type))
      made.emplace(n, copy.kids[0]->kids[n->bits]);
    else made.emplace(n, a.put(std::move(copy)));
  });
  return failed ? nullptr : made.at(body);
}

}  // namespace

const node* substitute(arena& a, const node* body, std::span<const node* const> row_replacements) {
  // A nested computation in a replacement brings its own element numbers, which must not meet those of the body.
  if (contains(body, op::nested) || contains(body, op::loop))
    for (const node* r : row_replacements)
      if (r && (contains(r, op::nested) || contains(r, op::loop))) return nullptr;
  return rebuild(a, body, [&](const node* n) -> const node* {
    if (n->id >= row_replacements.size() || !row_replacements[n->id]) return a.put(node(*n));
    const node* row = row_replacements[n->id];
    return part_of(a, row, n->what == op::field ? n->bits : 0, n->type);
  });
}

const node* renumber_row(arena& a, const node* body, std::uint32_t from, std::uint32_t to) {
  return rebuild(a, body, [&](const node* n) {
    node copy = *n;
    if (copy.id == from) copy.id = to;
    return a.put(std::move(copy));
  });
}

}  // namespace query::ir
