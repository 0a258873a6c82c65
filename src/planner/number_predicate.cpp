#include "planner/number_predicate.hpp"

#include "ir/analysis.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner {

using ir::kind;
using ir::op;

namespace {

constexpr std::size_t most_tests = 64;

std::size_t bytes_of(kind k) {
  switch (k) {
    case kind::boolean:
    case kind::i8:
    case kind::u8: return 1;
    case kind::i16:
    case kind::u16: return 2;
    case kind::i32:
    case kind::u32:
    case kind::f32: return 4;
    default: return 8;
  }
}

}  // namespace

bool holds_all(kind from, kind to) {
  if (from == to) return true;
  if (ir::is_floating(from)) return to == kind::f64;
  if (ir::is_floating(to)) return bytes_of(from) < bytes_of(to);
  const bool sign = ir::is_signed_integer(from);
  if (sign) return ir::is_signed_integer(to) && bytes_of(from) < bytes_of(to);
  return bytes_of(from) < bytes_of(to) || (from == kind::boolean && to == kind::u8);
}

namespace {

// A conversion that kernels have: of integers and bools to what C++ compares numbers as, and of float to double.
bool converts(kind from, kind to) {
  if (from == to) return true;
  if (ir::is_floating(from)) return from == kind::f32 && to == kind::f64;
  return bytes_of(to) >= 4;
}

bool is_literal(const ir::node* n, bool value) {
  return n->what == op::literal && n->type->k == kind::boolean && ((n->bits & 1) != 0) == value;
}

bool is_comparison(op what) {
  return what == op::lt || what == op::le || what == op::gt || what == op::ge || what == op::eq || what == op::ne;
}

using rules::mirrored;

class building {
 public:
  building(const column_schema& rows, number_predicate& to) : rows_(&rows), to_(&to) {}

  bool all_of(const ir::node* root) {
    root_ = root;
    if (!to_->tests.empty()) {
      masks_ = 1;
      to_->tests.back().decides = true;
    }
    const bool further = masks_ > 0;
    if (!add(root)) return false;
    if (further) put(number_test::kind::both);
    return true;
  }

 private:
  void put(number_test::kind what) {
    to_->tests.push_back({what});
    masks_ -= what == number_test::kind::both || what == number_test::kind::either;
  }
  bool compare(op how, const number_operand& left, const number_operand& right) {
    if (left.constant()) return !right.constant() && compare(mirrored(how), right, left);
    to_->tests.push_back({number_test::kind::compare, how, left, right});
    ++masks_;
    return true;
  }
  // x != 0.
  bool truth(const number_operand& x) {
    number_operand zero;
    zero.as = x.as;
    return !x.constant() && compare(op::ne, x, zero);
  }
  bool joined(const ir::node* a, const ir::node* b, number_test::kind how) {
    if (!add(a) || !add(b)) return false;
    put(how);
    return true;
  }
  // A chain of one of && and || needs two masks, however it is nested. What && joins at the root decides.
  bool chain(const ir::node* n, op what, bool decides, bool first = true) {
    for (const ir::node* kid : n->kids) {
      if (!first && decides) to_->tests.back().decides = true;
      if (kid->what == what) {
        if (!chain(kid, what, decides, first)) return false;
      } else {
        if (!add(kid)) return false;
        if (!first) put(what == op::logical_and ? number_test::kind::both : number_test::kind::either);
      }
      first = false;
    }
    return true;
  }
  // c ? x : y.
  bool select(const ir::node* c, const ir::node* x, const ir::node* y) {
    using is = number_test::kind;
    // !c && y and !c || x.
    if (is_literal(x, false)) return none_of(c) && add(y) && (put(is::both), true);
    if (is_literal(y, true)) return none_of(c) && add(x) && (put(is::either), true);
    // (c && p) || y and (c || q) && x, as traces of branches write them.
    if (x->what == op::logical_or && x->kids[1] == y) return joined(c, x->kids[0], is::both) && add(y) && (put(is::either), true);
    if (y->what == op::logical_and && y->kids[1] == x) return joined(c, y->kids[0], is::either) && add(x) && (put(is::both), true);
    if (!joined(c, x, is::both) || !none_of(c) || !add(y)) return false;
    put(is::both);
    put(is::either);
    return true;
  }
  bool none_of(const ir::node* c) {
    if (!add(c)) return false;
    put(number_test::kind::negate);
    return true;
  }
  bool add(const ir::node* n) {
    if (to_->tests.size() >= most_tests || masks_ >= number_predicate::most_depth) return false;
    if (is_comparison(n->what)) {
      const auto left = number_operand_of(n->kids[0], *rows_), right = number_operand_of(n->kids[1], *rows_);
      return left && right && left->as == right->as && compare(n->what, *left, *right);
    }
    if (n->type->k != kind::boolean) return false;
    switch (n->what) {
      case op::logical_not: return none_of(n->kids[0]);
      case op::logical_and:
      case op::logical_or: return chain(n, n->what, n == root_ && n->what == op::logical_and);
      case op::select: return select(n->kids[0], n->kids[1], n->kids[2]);
      case op::cast: {
        const auto x = number_operand_of(n->kids[0], *rows_);
        return x && truth(*x);
      }
      default: {
        const auto x = number_operand_of(n, *rows_);
        return x && truth(*x);
      }
    }
  }

  const column_schema* rows_;
  number_predicate* to_;
  std::size_t masks_ = 0;
  const ir::node* root_ = nullptr;
};

}  // namespace

std::optional<number_operand> number_operand_of(const ir::node* n, const column_schema& rows) {
  if (!ir::is_arithmetic(n->type->k)) return std::nullopt;
  number_operand x;
  x.as = n->type->k;
  if (n->what == op::literal) {
    x.bits = n->bits;
    return x;
  }
  if (n->what == op::cast) {
    const auto from = number_operand_of(n->kids[0], rows);
    if (!from || from->constant() || !converts(from->as, x.as) || !holds_all(from->lies->k, from->as)) return std::nullopt;
    x.column = from->column;
    x.within = from->within;
    x.lies = from->lies;
    return x;
  }
  const auto part = part_of_column(n, rows);
  if (!part) return std::nullopt;
  x.column = part->column;
  x.within = part->within;
  x.lies = n->type;
  return x;
}

bool add_number_predicate(const ir::node* root, const column_schema& rows, number_predicate& to) {
  return root->type->k == kind::boolean && building(rows, to).all_of(root);
}

std::optional<number_predicate> number_predicate_of(const ir::node* root, const column_schema& rows) {
  number_predicate p;
  if (!add_number_predicate(root, rows, p)) return std::nullopt;
  return p;
}

}  // namespace query::planner
