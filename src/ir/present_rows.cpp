#include "ir/present_rows.hpp"

#include <unordered_map>
#include <vector>

namespace query::ir {
namespace {

// What the conditions around an expression say about the row.
enum class known : std::uint8_t { nothing, present, missing };

class rewriting {
 public:
  rewriting(arena& a, std::uint32_t id, const type* record, const type* other)
      : arena_(&a), record_(record), other_(other), present_(presence_of(a, id, record)), row_(a.put(op::row, record, {}, 0, id)) {}

  // Without recursion: unrolled loops make deep trees.
  const node* run(const node* root) {
    struct entry {
      place at;
      std::size_t next;
    };
    std::vector<entry> stack{{{root, known::nothing}, 0}};
    while (!stack.empty()) {
      entry& e = stack.back();
      if (e.next < kids_of(e.at.n)) {
        const place kid = kid_of(e.at, e.next++);
        if (!done_.contains(kid)) stack.push_back({kid, 0});
        continue;
      }
      const place at = e.at;
      stack.pop_back();
      if (!done_.contains(at)) done_.emplace(at, made(at));
    }
    return done_.at({root, known::nothing});
  }

 private:
  struct place {
    const node* n;
    known row;
    bool operator==(const place&) const = default;
  };
  struct hash_of_place {
    std::size_t operator()(const place& p) const { return std::hash<const node*>{}(p.n) * 3 + static_cast<std::size_t>(p.row); }
  };

  static bool is_optional(const node* n, std::uint32_t id, const type* record) {
    return n->what == op::row && n->id == id && n->type->k == kind::optional && n->type->element == record;
  }
  bool is_optional_row(const node* n) const { return is_optional(n, row_->id, record_); }
  bool asks(const node* n) const { return n->what == op::has_value && is_optional_row(n->kids[0]); }
  bool asks_for_other(const node* n) const {
    if (!other_) return false;
    return is_presence(n, 1 - row_->id, other_) || (n->what == op::has_value && is_optional(n->kids[0], 1 - row_->id, other_));
  }
  bool takes_value(const node* n) const { return n->what == op::value && is_optional_row(n->kids[0]); }
  std::size_t kids_of(const node* n) const { return asks(n) || takes_value(n) ? 0 : n->kids.size(); }

  known after(const node* condition, bool outcome, known before) const {
    if (before != known::nothing) return before;
    if (asks(condition)) return outcome ? known::present : known::missing;
    if (!outcome && asks_for_other(condition)) return known::present;
    if (condition->what == op::logical_not) return after(condition->kids[0], !outcome, before);
    if (condition->what == (outcome ? op::logical_and : op::logical_or))
      for (const node* k : condition->kids)
        if (const known now = after(k, outcome, before); now != known::nothing) return now;
    return known::nothing;
  }
  place kid_of(const place& p, std::size_t i) const {
    const node* k = p.n->kids[i];
    const bool chooses = p.n->what == op::select || p.n->what == op::logical_and || p.n->what == op::logical_or;
    if (!chooses || i == 0) return {k, p.row};
    const bool taken = p.n->what == op::select ? i == 1 : p.n->what == op::logical_and;
    return {k, after(p.n->kids[0], taken, p.row)};
  }

  const node* made(const place& p) {
    const node* n = p.n;
    arena& a = *arena_;
    if (asks(n)) return p.row == known::nothing ? present_ : a.put(op::literal, n->type, {}, p.row == known::present);
    if (takes_value(n)) return either(p.row, row_, [&] { return a.put(op::value, record_, {a.put(op::null, n->kids[0]->type)}); });
    if (is_optional_row(n)) return either(p.row, a.put(op::some, n->type, {row_}), [&] { return a.put(op::null, n->type); });
    node copy = *n;
    for (std::size_t i = 0; i < copy.kids.size(); ++i) copy.kids[i] = done_.at(kid_of(p, i));
    if (n->what == op::select) return make_select(a, copy.kids[0], copy.kids[1], copy.kids[2]);
    if (n->what == op::logical_not) return make_not(a, copy.kids[0]);
    if (n->what == op::cast) return make_cast(a, copy.kids[0], n->type);
    if (n->what == op::member || n->what == op::element) return part(copy.kids[0], n);
    return a.put(std::move(copy));
  }
  template <class Missing> const node* either(known row, const node* there, Missing missing) {
    if (row == known::present) return there;
    return row == known::missing ? missing() : make_select(*arena_, present_, there, missing());
  }
  // The part of `whole` that `member` takes of what `whole` was.
  const node* part(const node* whole, const node* member) {
    const std::size_t i = static_cast<std::size_t>(member->bits);
    if (whole->what == op::select && whole->kids[0] == present_)
      return make_select(*arena_, present_, part(whole->kids[1], member), part(whole->kids[2], member));
    if (whole->what == op::make && i < whole->kids.size() && whole->kids[i]->type == member->type) return whole->kids[i];
    if (whole->what != op::row && whole->what != op::field) return arena_->put(member->what, member->type, {whole}, member->bits);
    const type* t = whole->type;
    std::string path = whole->text;
    if (t->k == kind::array) path += "[" + std::to_string(i) + "]";
    else path += (path.empty() ? "" : ".") + std::string(t->field_list[i].name);
    const std::size_t offset = t->k == kind::array ? i * t->element->size : t->field_list[i].offset;
    return arena_->put(op::field, member->type, {}, whole->bits + offset, whole->id, std::move(path));
  }

  arena* arena_;
  const type *record_, *other_;
  const node *present_, *row_;
  std::unordered_map<place, const node*, hash_of_place> done_;
};

}  // namespace

const node* over_present_rows(arena& a, const node* body, std::uint32_t id, const type* record, const type* other) {
  return rewriting(a, id, record, other).run(body);
}

const node* presence_of(arena& a, std::uint32_t id, const type* record) {
  return a.put(op::field, describe<bool>(), {}, record->size, id, "present");
}
bool is_presence(const node* n, std::uint32_t id, const type* record) {
  return n->what == op::field && n->id == id && n->bits == record->size && n->type == describe<bool>();
}

}  // namespace query::ir
