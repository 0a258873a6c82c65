#include "gpu_engine/placement/key_values.hpp"

#include <query/detail/type.hpp>

#include "ir/analysis.hpp"

namespace query::gpu_engine {

namespace {

using ir::kind;
using ir::node;
using ir::op;
using answer = std::optional<double>;

// A positive integer literal; literals are zero-extended.
answer literal(const node* n) {
  if (n->what == op::cast) return literal(n->kids[0]);
  if (n->what != op::literal || !ir::is_integer(n->type->k)) return {};
  if (ir::is_signed_integer(n->type->k) && n->bits >> (8 * n->type->size - 1)) return {};
  return static_cast<double>(n->bits);
}

}  // namespace

answer values_of(const node* n, const std::function<answer(std::uint64_t)>& captured) {
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
    // With a literal: as many as before.
    case op::add:
    case op::sub:
    case op::mul:
    case op::div:
      if (literal(n->kids[1])) return values_of(n->kids[0], captured);
      return {};
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

}  // namespace query::gpu_engine
