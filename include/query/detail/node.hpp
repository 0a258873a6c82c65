// Expression trees: what a traced lambda becomes, and what the planner, the interpreter and code generators read.
//
// A node is immutable, hash-consed in the arena of one trace, and typed by ir::type. Trees are compared across arenas by
// `shape`, a structural hash free of addresses.
//
//   [](auto t) { return t.price * t.qty; }   becomes   mul(field price : f64, cast(field qty) : f64) : f64
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <query/detail/function_ref.hpp>
#include <query/detail/type.hpp>

namespace query::ir {

enum class op : std::uint8_t {
  // leaves
  literal,     // bits: the value's bytes, zero-extended (scalars); text: a string's characters
  null,        // an empty optional
  row,         // the whole row number `id` (0: the row; 1: the right row of a join; 2...: element of a nested query)
  field,       // part of row `id` at byte offset `bits`, of type `type`; text: its path, "pos.x" or "x[3]"
  variable,    // loop or fold state: `id` names the loop, `bits` the position
  collection,  // a captured collection (broadcast): bits: its slot number, type: its element
  key,         // the key of the group (only in functions of groups)
  // structure
  member,     // kid 0: a record that is not a row; bits: field number
  element,    // kid 0: an array that is not a row's; bits: constant index
  index,      // kid 0: array or list; kid 1: i64 index
  make,       // a record, array or tuple of the kids, in order
  has_value,  // kid 0: optional -> bool
  value,      // kid 0: optional -> element (throws std::bad_optional_access when empty)
  some,       // kid 0: value -> optional
  size,       // kid 0: string or list -> u64
  // arithmetic: kids have the type of the node, except shifts' right side
  cast, negate, bit_not,
  add, sub, mul, div, mod, bit_and, bit_or, bit_xor, shl, shr,
  // comparisons: both kids of one type -> bool
  lt, le, gt, ge, eq, ne,
  // logic; the right kid counts only where the left one does not decide
  logical_not, logical_and, logical_or,
  select,     // kid 0: bool, kid 1, kid 2 of the node's type; only the chosen one counts
  call,       // text: the function's name ("sqrt", "starts_with", ...)
  // nested computations
  nested,     // text: verb (arg_min, arg_max, min, max, sum, any, all, count, fold, at, size); kid 0: collection or list;
              // then the body over row `id` (fold: initial value, then the body over row `id` and variable `id`)
  loop,       // bits = n states: kids are n initial values, the condition, n steps, over variable(id, 0..n-1);
              // type: the state's type, a tuple when n > 1
  aggregate,  // functions of groups; text: count, sum, min, ...; kids: the aggregated expression over row 0
};

std::string_view name_of(op o);

struct node {
  op what = op::literal;
  std::uint32_t id = 0;
  const ir::type* type = nullptr;
  std::uint64_t bits = 0;
  std::vector<const node*> kids;
  std::string text;
  std::uint64_t shape = 0;  // structural hash without addresses; set by the arena

  bool operator==(const node& o) const {
    return what == o.what && id == o.id && type == o.type && bits == o.bits && kids == o.kids && text == o.text;
  }
};

// Owns the nodes of one trace. Equal nodes are one object.
class arena {
 public:
  arena();
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  // Throws untraceable when the expression outgrows max_nodes.
  const node* put(node n);
  const node* put(op what, const type* t, std::initializer_list<const node*> kids = {}, std::uint64_t bits = 0,
                  std::uint32_t id = 0, std::string text = {});
  // The node that equals n if it is there, else null.
  const node* find(const node& n) const;
  std::size_t size() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

// What tracing a function gave: an expression, or the reason why there is none.
struct traced {
  std::shared_ptr<arena> owner;  // keeps root alive
  const node* root = nullptr;
  std::string reason;            // why the function is opaque
  int runs = 0;                  // how often the function was called to find all paths

  explicit operator bool() const { return root != nullptr; }
};

// "(price * f64(qty))"; "opaque: reason" for a function without a tree.
std::string show(const node* n);
std::string show(const traced& t);

// Builders that simplify what is decided already.
const node* make_select(arena& a, const node* c, const node* x, const node* y);
const node* make_not(arena& a, const node* x);
const node* make_cast(arena& a, const node* x, const type* to);

}  // namespace query::ir

namespace query {

// Thrown inside a function while it is traced; the function is then opaque. Users never see it escape a verb.
struct untraceable : std::exception {
  explicit untraceable(std::string why) : reason(std::move(why)) {}
  const char* what() const noexcept override { return reason.c_str(); }
  std::string reason;
};

}  // namespace query
