#include "planner/file_row_tests.hpp"

#include <bit>
#include <optional>
#include <utility>

#include "ir/analysis.hpp"
#include "ir/visit.hpp"
#include "planner/number_predicate.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner {

using data::row_test;
using data::row_tests;
using data::test_value;
using ir::kind;
using ir::node;
using ir::op;

namespace {

constexpr std::size_t most_lists = 32, most_tests = 16;

// A field of the row, also of a record within it, that such a value of the row is. Values of an optional count as it.
std::optional<std::string> field_at(const ir::type* row, std::size_t offset, const ir::type* of) {
  for (const ir::field& f : row->field_list) {
    if (offset < f.offset || f.offset + f.of->size < offset + of->size) continue;
    if (f.offset == offset && f.of == of) return std::string(f.name);
    if (f.of->k != kind::record) continue;
    if (auto inner = field_at(f.of, offset - f.offset, of)) return std::string(f.name) + "." + *inner;
  }
  return std::nullopt;
}

bool is_scalar(const ir::type* t) { return ir::is_arithmetic(t->k) || t->k == kind::string; }

class predicate_reading {
 public:
  explicit predicate_reading(const ir::type* row) : row_(row) {}

  // What rows pass for which the expression is `wanted`.
  row_tests of(const node* n, bool wanted, int depth = 0) const {
    constexpr int deepest = 64;
    if (depth > deepest || n->type->k != kind::boolean) return {};
    switch (n->what) {
      case op::logical_not: return of(n->kids[0], !wanted, depth + 1);
      case op::logical_and:
      case op::logical_or: {
        row_tests a = of(n->kids[0], wanted, depth + 1);
        const bool joins = (n->what == op::logical_and) == wanted;
        for (std::size_t i = 1; i < n->kids.size(); ++i) {
          const row_tests b = of(n->kids[i], wanted, depth + 1);
          a = joins ? both(a, b) : either(a, b);
        }
        return a;
      }
      case op::select: {  // c && x || !c && y
        const auto side = [&](const node* value, bool condition) -> std::optional<row_tests> {
          if (value->what == op::literal) {
            if (((value->bits & 1) != 0) != wanted) return std::nullopt;
            return of(n->kids[0], condition, depth + 1);
          }
          return both(of(n->kids[0], condition, depth + 1), of(value, wanted, depth + 1));
        };
        const auto x = side(n->kids[1], true), y = side(n->kids[2], false);
        return x && y ? either(*x, *y) : x ? *x : y ? *y : row_tests{};
      }
      case op::has_value:
        if (const auto f = field_of(n->kids[0])) return {{{*f, wanted ? row_test::is::present : row_test::is::null}}};
        return {};
      case op::lt:
      case op::le:
      case op::gt:
      case op::ge:
      case op::eq:
      case op::ne: return comparison(n->what, n->kids[0], n->kids[1], wanted);
      default:
        if (const auto f = operand(n)) return {{{*f, row_test::is::eq, test_value::of(std::uint64_t{wanted})}}};
        return {};
    }
  }

 private:
  std::optional<std::string> field_of(const node* n) const {
    const auto f = ir::is_row_field(n);
    if (!f || f->row != 0 || f->type != n->type) return std::nullopt;
    return field_at(row_, f->offset, f->type);
  }
  // A field, the value of an optional one, or one of these in a wider type.
  std::optional<std::string> operand(const node* n) const {
    if (!is_scalar(n->type)) return std::nullopt;
    if (n->what == op::cast)
      return ir::is_arithmetic(n->kids[0]->type->k) && holds_all(n->kids[0]->type->k, n->type->k) ? operand(n->kids[0]) : std::nullopt;
    return field_of(n->what == op::value ? n->kids[0] : n);
  }
  static std::optional<test_value> constant(const node* n) {
    if (n->what != op::literal) return std::nullopt;
    if (n->type->k == kind::string) return test_value::of(n->text);
    const std::size_t bits = 8 * n->type->size;
    if (ir::is_signed_integer(n->type->k))
      return test_value::of(static_cast<std::int64_t>(n->bits << (64 - bits)) >> (64 - bits));
    if (n->type->k == kind::f64) return test_value::of(std::bit_cast<double>(n->bits));
    if (n->type->k == kind::f32) return test_value::of(double{std::bit_cast<float>(static_cast<std::uint32_t>(n->bits))});
    if (ir::is_arithmetic(n->type->k)) return test_value::of(std::uint64_t{n->bits});
    return std::nullopt;
  }
  row_tests comparison(op how, const node* left, const node* right, bool wanted) const {
    if (left->what == op::literal) {
      std::swap(left, right);
      how = rules::mirrored(how);
    }
    const auto field = operand(left);
    const auto value = constant(right);
    if (!field || !value) return {};
    // Statistics are silent about NaNs, which pass what they do not pass the other way round.
    const bool floats = ir::is_floating(left->type->k);
    if (!wanted) {
      if (floats) return {};
      how = negated(how);
    }
    if (how == op::ne && (floats || left->type->k == kind::string)) return {};
    using is = row_test::is;
    const is test = how == op::lt ? is::lt : how == op::le ? is::le : how == op::gt ? is::gt : how == op::ge ? is::ge
                    : how == op::eq ? is::eq : is::ne;
    return {{{*field, test, *value}}};
  }
  static op negated(op how) {
    switch (how) {
      case op::lt: return op::ge;
      case op::le: return op::gt;
      case op::gt: return op::le;
      case op::ge: return op::lt;
      case op::eq: return op::ne;
      default: return op::eq;
    }
  }

  const ir::type* row_;
};

}  // namespace

row_tests both(const row_tests& a, const row_tests& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  if (a.size() * b.size() > most_lists) return a;  // says less
  row_tests all;
  for (const auto& x : a)
    for (const auto& y : b) {
      all.push_back(x);
      if (x.size() + y.size() <= most_tests) all.back().insert(all.back().end(), y.begin(), y.end());
    }
  return all;
}

row_tests either(const row_tests& a, const row_tests& b) {
  if (a.empty() || b.empty() || a.size() + b.size() > most_lists) return {};
  row_tests all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

row_tests row_tests_of(const node* predicate, const ir::type* row) { return predicate_reading(row).of(predicate, true); }

bool may_be_left_out(const node* part, bool tested) {
  if (!tested && ir::contains(part, op::value)) return false;
  bool quiet = true;
  ir::each_node(part, [&](const node* n) {
    switch (n->what) {
      case op::div:
      case op::mod: quiet = quiet && ir::is_floating(n->type->k); break;
      case op::index:
      case op::nested:
      case op::loop:
      case op::aggregate:
      case op::key:
      case op::variable:
      case op::collection: quiet = false; break;
      case op::call: quiet = quiet && ir::is_quiet_call(n) && !ir::narrowed_part(n); break;
      default: break;
    }
  });
  return quiet;
}

}  // namespace query::planner
