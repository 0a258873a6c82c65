#include <ir/analysis.hpp>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <vector>

#include <ir/visit.hpp>
#include <query/detail/narrowing.hpp>
#include <query/detail/tracer.hpp>

namespace query::ir {
namespace {

struct range {
  long double low, high;
};

range range_of(kind k) {
  switch (k) {
    case kind::boolean: return {0, 1};
    case kind::i8: return {-128, 127};
    case kind::u8: return {0, 255};
    case kind::i16: return {-32768, 32767};
    case kind::u16: return {0, 65535};
    case kind::u32: return {0, 4294967295.0L};
    case kind::i32: return {-2147483648.0L, 2147483647.0L};
    case kind::u64: return {0, 18446744073709551615.0L};
    default: return {-9223372036854775808.0L, 9223372036854775807.0L};
  }
}

// The values that an integer expression can have, seen through widening casts and literals.
range values_of(const node* n) {
  const auto of_integer = [](const node* c) {
    return c->what == op::cast && is_arithmetic(c->kids[0]->type->k) && !is_floating(c->kids[0]->type->k);
  };
  if (of_integer(n)) {
    std::vector<range> wider{range_of(n->type->k)};
    for (n = n->kids[0]; of_integer(n); n = n->kids[0]) wider.push_back(range_of(n->type->k));
    range r = values_of(n);
    for (auto own = wider.rbegin(); own != wider.rend(); ++own)
      if (r.low < own->low || r.high > own->high) r = *own;
    return r;
  }
  const range own = range_of(n->type->k);
  if (narrowed_part(n)) {
    const range inner = values_of(n->kids[0]);
    return {std::max(inner.low, own.low), std::min(inner.high, own.high)};
  }
  if (n->what == op::literal && is_signed_integer(n->type->k)) {
    const std::uint64_t bits = n->bits << (64 - 8 * n->type->size);
    const long double v = static_cast<std::int64_t>(bits) >> (64 - 8 * n->type->size);
    return {v, v};
  }
  if (n->what == op::literal && is_arithmetic(n->type->k) && !is_floating(n->type->k)) {
    const auto v = static_cast<long double>(n->bits);
    return {v, v};
  }
  return own;
}

// Signed arithmetic cannot overflow: the operands are of narrower types, or known.
bool stays_in_range(const node* n) {
  const range own = range_of(n->type->k), a = values_of(n->kids[0]);
  if (n->what == op::negate) return -a.low <= own.high;
  const range b = values_of(n->kids[1]);
  range r{};
  if (n->what == op::add) {
    r = {a.low + b.low, a.high + b.high};
  } else if (n->what == op::sub) {
    r = {a.low - b.high, a.high - b.low};
  } else {
    const long double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    r = {*std::min_element(std::begin(products), std::end(products)), *std::max_element(std::begin(products), std::end(products))};
  }
  return r.low >= own.low && r.high <= own.high;
}

bool safe_shift(const node* n) {
  const range count = values_of(n->kids[1]);
  return count.low >= 0 && count.high < static_cast<long double>(8 * n->type->size);
}

// Calls whose native form cannot throw, take memory or be undefined.
bool safe_call(const node* n) {
  if (n->bits) return false;  // a device function of the user's
  if (narrowed_part(n)) return false;
  if (n->text == "abs") return !is_signed_integer(n->type->k) || -values_of(n->kids[0]).low <= range_of(n->type->k).high;
  return is_quiet_call(n);
}

bool safe(const node* n) {
  switch (n->what) {
    case op::div:
    case op::mod: return is_floating(n->type->k);
    case op::index:
    case op::value:
    case op::nested:
    case op::loop:
    case op::aggregate: return false;
    case op::add:
    case op::sub:
    case op::mul:
    case op::negate:
      if (is_signed_integer(n->type->k)) return stays_in_range(n);
      return is_arithmetic(n->type->k);
    case op::shl:
    case op::shr: return safe_shift(n);
    case op::cast: return !is_floating(n->kids[0]->type->k) || is_floating(n->type->k) || n->type->k == kind::boolean;
    case op::make:
    case op::some:
    case op::select: return n->type->trivial;  // strings and lists take memory
    case op::call: return safe_call(n);
    default: return true;
  }
}

}  // namespace

bool divides_integers(const node* root) {
  bool divides = false;
  each_node(root, [&](const node* n) {
    if (n->what != op::div && n->what != op::mod) return;
    const type* t = n->type->k == kind::array ? n->type->element : n->type;
    divides = divides || !is_floating(t->k);
  });
  return divides;
}

namespace {

// Does the outcome of the condition say that the optional holds a value?
bool says_present(const node* condition, bool outcome, const node* optional) {
  if (condition->what == op::has_value) return outcome && condition->kids[0] == optional;
  if (condition->what == op::logical_not) return says_present(condition->kids[0], !outcome, optional);
  if (condition->what != (outcome ? op::logical_and : op::logical_or)) return false;
  return std::any_of(condition->kids.begin(), condition->kids.end(), [&](const node* k) { return says_present(k, outcome, optional); });
}
// Does n look at its kid i only where it has found the optional to hold a value?
bool tests_before(const node* n, std::size_t i, const node* optional) {
  if (i == 0) return false;
  if (n->what == op::select) return says_present(n->kids[0], i == 1, optional);
  return (n->what == op::logical_and || n->what == op::logical_or) && says_present(n->kids[0], n->what == op::logical_and, optional);
}
// Is `sought`, the value of an optional, below root on a way without a test of the optional?
bool reached_untested(const node* root, const node* sought) {
  std::unordered_set<const node*> seen{root};
  std::vector<const node*> rest{root};
  while (!rest.empty()) {
    const node* n = rest.back();
    rest.pop_back();
    if (n == sought) return true;
    for (std::size_t i = 0; i < n->kids.size(); ++i)
      if (!tests_before(n, i, sought->kids[0]) && seen.insert(n->kids[i]).second) rest.push_back(n->kids[i]);
  }
  return false;
}

}  // namespace

bool takes_untested_values(const node* root) {
  std::vector<const node*> values;
  each_node(root, [&](const node* n) {
    if (n->what == op::value && n->kids[0]->what != op::some) values.push_back(n);
  });
  constexpr std::size_t most_looked_at = 64;  // one walk each; beyond, nothing is taken for tested
  if (values.size() > most_looked_at) return true;
  return std::any_of(values.begin(), values.end(), [&](const node* v) { return reached_untested(root, v); });
}

bool speculatable(const node* n) {
  bool all = true;
  each_node(n, [&](const node* x) { all = all && safe(x); });
  return all;
}

void fields_used(const node* n, std::uint32_t row, const type* row_type, std::vector<bool>& fields) {
  const auto list = row_type->fields();
  fields.resize(std::max<std::size_t>(list.size(), 1));
  each_node(n, [&](const node* x) {
    if (x->what == op::aggregate) {
      // The expression names the key alone; the result is the row.
      if (row == 0 && (x->text == "arg_min" || x->text == "arg_max")) std::fill(fields.begin(), fields.end(), true);
      return;
    }
    if (x->id != row) return;
    if (x->what == op::row) {
      std::fill(fields.begin(), fields.end(), true);
    } else if (x->what == op::field) {
      if (list.empty()) fields[0] = true;
      for (std::size_t i = 0; i < list.size(); ++i)
        if (x->bits < list[i].offset + list[i].of->size && list[i].offset < x->bits + x->type->size) fields[i] = true;
    }
  });
}

void element_fields_used(const node* root, std::uint32_t row, const type* element, std::vector<bool>& fields) {
  const auto is_list = [&](const node* n) { return n->what == op::row && n->id == row; };
  fields.resize(std::max<std::size_t>(element->fields().size(), 1));
  bool whole = is_list(root) || root->type == element;
  each_node(root, [&](const node* n) {
    const bool loops = n->what == op::nested && is_list(n->kids[0]);
    if (loops) fields_used(n, n->id, element, fields);
    for (std::size_t k = 0; k < n->kids.size(); ++k) {
      const bool known = n->what == op::size || (k == 0 && (n->what == op::index || loops));
      if (is_list(n->kids[k])) whole = whole || !known;
      else if (n->kids[k]->type == element && n->what == op::member && n->bits < fields.size()) fields[n->bits] = true;
      else whole = whole || n->kids[k]->type == element;
    }
  });
  if (whole) std::fill(fields.begin(), fields.end(), true);
}

std::set<std::uint32_t> rows_used(const node* n) {
  std::set<std::uint32_t> rows;
  each_node(n, [&](const node* x) {
    if ((x->what == op::row || x->what == op::field) && x->id < 2) rows.insert(x->id);
  });
  return rows;
}

std::vector<const node*> conjuncts(const node* n) {
  std::vector<const node*> parts, rest{n};
  while (!rest.empty()) {
    const node* x = rest.back();
    rest.pop_back();
    if (x->what == op::logical_and) {
      rest.push_back(x->kids[1]);
      rest.push_back(x->kids[0]);
    } else {
      parts.push_back(x);
    }
  }
  return parts;
}

const node* conjunction(arena& a, std::span<const node* const> parts) {
  const node* all = nullptr;
  for (const node* p : parts) all = all ? a.put(op::logical_and, p->type, {all, p}) : p;
  return all;
}

std::optional<std::string_view> narrowed_part(const node* n) {
  if (n->what != op::call || !n->text.starts_with(narrowing)) return std::nullopt;
  return std::string_view(n->text).substr(narrowing.size());
}

bool is_quiet_call(const node* n) { return n->type->trivial && n->text != "matches"; }

bool contains(const node* n, op what) {
  bool found = false;
  each_node(n, [&](const node* x) { found = found || x->what == what; });
  return found;
}

bool has_capture(const node* n) { return contains(n, op::collection); }

std::vector<std::uint64_t> captures(const node* n) {
  std::set<std::uint64_t> slots;
  each_node(n, [&](const node* x) {
    if (x->what == op::collection) slots.insert(x->bits);
  });
  return {slots.begin(), slots.end()};
}

std::optional<row_field> is_row_field(const node* n) {
  if (n->what == op::row) return row_field{n->id, 0, n->type, {}};
  if (n->what == op::field) return row_field{n->id, static_cast<std::size_t>(n->bits), n->type, n->text};
  return std::nullopt;
}

}  // namespace query::ir

namespace query::detail {

const ir::node* narrowed_node(const ir::node* x, const ir::type* to, std::string_view record, std::string_view field) {
  std::string name(ir::narrowing);
  name += record;
  name += '.';
  name += field;
  return ir::current_arena().put(ir::op::call, to, {x}, 0, 0, std::move(name));
}

}  // namespace query::detail
