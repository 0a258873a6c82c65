#include "runtime/placement/key_values.hpp"

#include <query/detail/type.hpp>

#include "ir/analysis.hpp"

namespace query::runtime {

namespace {

using ir::kind;
using ir::node;
using ir::op;
using answer = std::optional<double>;

// A positive integer literal; literals are zero-extended.
answer literal(const node* n) {
  while (n->what == op::cast) n = n->kids[0];
  if (n->what != op::literal || !ir::is_integer(n->type->k)) return {};
  if (ir::is_signed_integer(n->type->k) && n->bits >> (8 * n->type->size - 1)) return {};
  return static_cast<double>(n->bits);
}

// What sums and products with literals are made of has as many values as they: unrolled loops make deep trees of them.
const node* below_constants(const node* n) {
  const auto small = [](const node* x) {
    return x->type->k == kind::boolean || x->type->k == kind::i8 || x->type->k == kind::u8;  // known by their type
  };
  while ((n->what == op::add || n->what == op::sub || n->what == op::mul || n->what == op::div) && !small(n) && literal(n->kids[1]))
    n = n->kids[0];
  return n;
}

}  // namespace

answer values_of(const node* n, const std::function<answer(std::uint64_t)>& captured) {
  n = below_constants(n);
  switch (n->type->k) {
    case kind::boolean:
      return 2;
    case kind::i8:
    case kind::u8:
      return 256;
    default:
      break;
  }
  switch (n->what) {
    case op::literal:
      return 1;
    case op::mod:
      if (const answer m = literal(n->kids[1])) return *m * (ir::is_signed_integer(n->type->k) ? 2 : 1);
      return {};
    case op::bit_and:
      for (const node* k : n->kids)
        if (const answer m = literal(k)) return *m + 1;
      return {};
    case op::call:
      return ir::narrowed_part(n) ? values_of(n->kids[0], captured) : answer();
    case op::cast:
    case op::negate:
    case op::bit_not:
    case op::value:
      return values_of(n->kids[0], captured);
    case op::select: {
      const answer a = values_of(n->kids[1], captured), b = values_of(n->kids[2], captured);
      return a && b ? answer(*a + *b) : answer();
    }
    case op::make: {
      double product = 1;
      for (const node* k : n->kids) {
        const answer a = values_of(k, captured);
        if (!a) return {};
        product *= *a;
      }
      return product;
    }
    case op::nested:
      return (n->text == "arg_min" || n->text == "arg_max") && n->kids[0]->what == op::collection ? captured(n->kids[0]->bits) : answer();
    default:
      return {};
  }
}

}  // namespace query::runtime
