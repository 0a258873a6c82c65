// Loops of traced functions, and the check that no element of a nested computation outlives it.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include <query/detail/nested.hpp>

#include <ir/visit.hpp>

namespace query::detail {

using ir::node;
using ir::op;

namespace {

const ir::type* type_of_state(const ir::type* state, std::size_t n, std::size_t i) { return n == 1 ? state : state->field_list[i].of; }

// Part i of a value that branches made: select(c, {a, b}, {d, e}) has the part select(c, a, d).
const node* part_through_branches(const node* value, std::size_t i) {
  std::unordered_map<const node*, const node*> parts;
  std::vector<const node*> open{value};
  while (!open.empty()) {
    const node* n = open.back();
    if (n->what != op::select) {
      parts.emplace(n, part_of(n, i));
      open.pop_back();
      continue;
    }
    const auto x = parts.find(n->kids[1]), y = parts.find(n->kids[2]);
    if (x != parts.end() && y != parts.end()) {
      parts.emplace(n, ir::make_select(ir::current_arena(), n->kids[0], x->second, y->second));
      open.pop_back();
      continue;
    }
    if (x == parts.end()) open.push_back(n->kids[1]);
    if (y == parts.end()) open.push_back(n->kids[2]);
  }
  return parts.at(value);
}

// The numbers of the rows and states that a tree uses and does not bind itself; 0 and 1 are the function's own.
using numbers = std::vector<std::uint32_t>;
numbers free_in(const node* root) {
  std::unordered_map<const node*, numbers> known;
  ir::each_node(root, [&](const node* n) {
    numbers mine;
    if ((n->what == op::row || n->what == op::field || n->what == op::variable) && n->id > 1) mine.push_back(n->id);
    const bool binds = n->what == op::nested || n->what == op::loop;
    // The list, the initial values and an index lie outside of the scope.
    std::size_t outside = 0;
    if (n->what == op::nested) outside = n->text == "fold" || n->text == "at" ? 2 : 1;
    if (n->what == op::loop) outside = n->bits;
    for (std::size_t i = 0; i < n->kids.size(); ++i)
      for (const std::uint32_t id : known.at(n->kids[i]))
        if (!binds || i < outside || id != n->id) mine.push_back(id);
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    known.emplace(n, std::move(mine));
  });
  return known.at(root);
}

}  // namespace

const node* loop_state(const ir::type* state, std::size_t n, std::uint32_t id) {
  auto& a = ir::current_arena();
  if (n == 1 && state->k != ir::kind::record) return a.put(op::variable, state, {}, 0, id);
  node whole;
  whole.what = op::make;
  whole.type = state;
  for (std::size_t i = 0; i < n; ++i) whole.kids.push_back(a.put(op::variable, state->field_list[i].of, {}, i, id));
  return a.put(std::move(whole));
}

const node* make_loop(const ir::type* state, std::size_t n, std::uint32_t id, const node* initial, const node* condition,
                      const node* step) {
  auto& a = ir::current_arena();
  const bool parts = state->k == ir::kind::record;
  node l;
  l.what = op::loop;
  l.id = id;
  l.bits = n;
  l.type = parts && n == 1 ? state->field_list[0].of : type_of_state(state, 1, 0);
  for (std::size_t i = 0; i < n; ++i) l.kids.push_back(parts ? part_through_branches(initial, i) : initial);
  l.kids.push_back(condition);
  for (std::size_t i = 0; i < n; ++i) l.kids.push_back(parts ? part_through_branches(step, i) : step);
  const node* last = a.put(std::move(l));
  if (parts && n == 1) return a.put(op::make, state, {last});
  return last;
}

const char* escaped_row(const node* root) {
  return free_in(root).empty()
             ? nullptr
             : "an element of a nested query or loop was used outside of it (stored in a variable of the function around it?)";
}

}  // namespace query::detail
