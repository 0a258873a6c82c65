#include "gpu_engine/codegen/expressions.hpp"

#include <algorithm>

#include "ir/analysis.hpp"
#include "ir/visit.hpp"

namespace query::gpu_engine {

using ir::kind;
using ir::node;
using ir::op;

namespace {

constexpr std::size_t statement_limit = 20'000;
constexpr std::size_t scope_limit = 120;

// Kids that are evaluated in another body than the node itself start here.
std::size_t own_kids(const node* n) {
  if (n->what == op::aggregate) return 0;
  if (n->what == op::loop) return static_cast<std::size_t>(n->bits);
  if (n->what == op::nested) return n->text == "fold" || n->text == "at" ? 2 : 1;
  return n->kids.size();
}

bool may_fail(const node* n) {
  switch (n->what) {
    case op::div:
    case op::mod:
      return !ir::is_floating(n->type->k);
    case op::value:
    case op::index:
    case op::nested:
    case op::loop:
      return true;
    case op::call:
      return n->text == "substr" || ir::narrowed_part(n);
    default:
      return false;
  }
}

bool chooses(const node* n) { return n->what == op::select || n->what == op::logical_and || n->what == op::logical_or; }

}  // namespace

bool any_may_fail(const node* root) {
  bool some = false;
  ir::each_node(root, [&](const node* n) { some = some || may_fail(n); });
  return some;
}

struct expressions::facts {
  bool total = true;  // cannot fail and ends soon: may run for rows that do not need it
  std::uint32_t uses = 0;
  std::vector<std::uint32_t> binders;  // loops and nested computations that it depends on
};
struct expressions::scope {
  std::string text;
  std::unordered_map<const node*, std::string> known;
  std::uint32_t binder = 0;
};

expressions::expressions(kernel_source& k, std::uint32_t site, int indent) : k_(k), site_(site), indent_(indent) {
  scopes_.push_back(std::make_unique<scope>());
}
expressions::~expressions() = default;

void expressions::bind(std::uint32_t row, row_source r) { rows_[row] = std::move(r); }
void expressions::bind(const node* n, std::string text) { bound_[n] = std::move(text); }
std::string expressions::take() { return std::move(scopes_.front()->text); }

void expressions::line(const std::string& s) {
  if (++statements_ > statement_limit) throw not_generated("the function is too large for a kernel");
  scope& c = *scopes_.back();
  c.text.append(static_cast<std::size_t>(indent_) * 2 + (scopes_.size() - 1) * 2, ' ');
  c.text += s;
  c.text += '\n';
}
void expressions::open(std::uint32_t binder) {
  if (scopes_.size() > scope_limit) throw not_generated("the function's conditions are nested too deeply for a kernel");
  scopes_.push_back(std::make_unique<scope>());
  scopes_.back()->binder = binder;
}
std::string expressions::close() {
  std::string inner = std::move(scopes_.back()->text);
  scopes_.pop_back();
  return inner;
}
// Written when it is complete: what was moved out of it comes before it.
void expressions::block(const std::string& head, const std::string& inner) {
  line(head + " {");
  scopes_.back()->text += inner;
  line("}");
}
std::string expressions::declare(const ir::type* t) {
  std::string v = k_.fresh("v");
  line(k_.type_name(t) + " " + v + ";");
  return v;
}
std::string expressions::define(const ir::type* t, const std::string& text) {
  std::string v = k_.fresh("v");
  line("const " + k_.type_name(t) + " " + v + " = " + text + ";");
  return v;
}

// ---------------------------------------------------------------- order
void expressions::analyse(const node* root) {
  // Kids first, without recursion: unrolled loops make deep trees.
  struct entry {
    const node* n;
    std::size_t next;
  };
  std::vector<entry> stack;
  if (!facts_.contains(root)) stack.push_back({root, 0});
  while (!stack.empty()) {
    entry& e = stack.back();
    if (e.n->what != op::aggregate && e.next < e.n->kids.size()) {
      const node* kid = e.n->kids[e.next++];
      if (!facts_.contains(kid)) stack.push_back({kid, 0});
      continue;
    }
    const node* n = e.n;
    stack.pop_back();
    if (facts_.contains(n)) continue;
    facts f;
    f.total = !may_fail(n);
    const std::size_t own = own_kids(n);
    const bool binds = n->what == op::nested || n->what == op::loop;
    if (n->what == op::variable || ((n->what == op::row || n->what == op::field) && n->id > 1)) f.binders.push_back(n->id);
    for (std::size_t i = 0; n->what != op::aggregate && i < n->kids.size(); ++i) {
      facts& kid = facts_.at(n->kids[i]);
      ++kid.uses;
      f.total = f.total && kid.total;
      for (const std::uint32_t b : kid.binders)
        if (!(binds && i >= own && b == n->id) && std::find(f.binders.begin(), f.binders.end(), b) == f.binders.end())
          f.binders.push_back(b);
    }
    facts_.emplace(n, std::move(f));
  }
}

bool expressions::total(const node* n) const { return facts_.at(n).total; }

std::size_t expressions::home(const node* n) const {
  const facts& f = facts_.at(n);
  for (std::size_t i = scopes_.size(); i-- > 1;)
    if (scopes_[i]->binder && std::find(f.binders.begin(), f.binders.end(), scopes_[i]->binder) != f.binders.end()) return i;
  return 0;
}

const std::string* expressions::known(const node* n) const {
  if (const auto b = bound_.find(n); b != bound_.end()) return &b->second;
  for (std::size_t i = scopes_.size(); i-- > 0;)
    if (const auto it = scopes_[i]->known.find(n); it != scopes_[i]->known.end()) return &it->second;
  return nullptr;
}

std::string expressions::value(const node* n) {
  if (const std::string* k = known(n)) return *k;
  analyse(n);
  compute(n);
  return *known(n);
}

// Where a node may be computed once for all its users: what cannot fail and is used again belongs to the innermost loop that
// it depends on.
std::size_t expressions::scope_for(const node* n) const {
  const facts& f = facts_.at(n);
  return f.total && f.uses > 1 ? home(n) : scopes_.size() - 1;
}

void expressions::compute(const node* root) {
  // Further out: the scopes within are put aside.
  const std::size_t at = scope_for(root);
  std::vector<std::unique_ptr<scope>> inner;
  while (scopes_.size() > at + 1) {
    inner.push_back(std::move(scopes_.back()));
    scopes_.pop_back();
  }
  struct entry {
    const node* n;
    std::size_t next;
  };
  std::vector<entry> stack{{root, 0}};
  while (!stack.empty()) {
    entry& e = stack.back();
    const node* n = e.n;
    if (e.next < std::min(own_kids(n), n->kids.size())) {
      const std::size_t i = e.next++;
      const node* kid = n->kids[i];
      if ((chooses(n) && i > 0 && !total(kid)) || kid->what == op::collection || known(kid)) continue;
      if (scope_for(kid) + 1 < scopes_.size())
        compute(kid);
      else
        stack.push_back({kid, 0});
      continue;
    }
    stack.pop_back();
    if (known(n)) continue;
    std::string text = statement(n);
    scopes_.back()->known[n] = std::move(text);
  }
  while (!inner.empty()) {
    scopes_.push_back(std::move(inner.back()));
    inner.pop_back();
  }
}

// ---------------------------------------------------------------- one node
std::string expressions::statement(const node* n) {
  const auto kid = [&](std::size_t i) { return value(n->kids[i]); };
  switch (n->what) {
    case op::literal:
      return literal(n);
    case op::null:
      return define(n->type, k_.type_name(n->type) + "{}");
    case op::row:
    case op::field: {
      const auto it = rows_.find(n->id);
      if (it == rows_.end()) throw not_generated("a row outside its computation");
      const std::string wide = wide_part_of(it->second, n->what == op::field ? n->bits : 0, n->type, k_);
      if (!wide.empty()) return define(n->type, wide);
      const std::string text = part_of(it->second, n->what == op::field ? n->bits : 0, n->type, k_);
      // Rows and records in memory are read field by field by those who use them.
      return read_in_place(it->second, n->what == op::field ? n->bits : 0, n->type) ? text : define(n->type, text);
    }
    case op::key:
    case op::aggregate:
      throw not_generated("a group's value outside the function of a group");
    case op::variable: {
      const auto it = variables_.find(n->id);
      if (it == variables_.end() || n->bits >= it->second.size()) throw not_generated("a variable outside its loop");
      return it->second[n->bits];
    }
    case op::collection:
      return "";
    case op::member:
      return kid(0) + ".f" + std::to_string(n->bits);
    case op::element:
      return kid(0) + ".a[" + std::to_string(n->bits) + "]";
    case op::index:
      return index(n);
    case op::make:
      return make(n);
    case op::has_value:
      return kid(0) + ".has";
    case op::value: {
      const std::string o = kid(0);
      line("if (!" + o + ".has) fail(" + k_.errors() + ", empty_optional, " + std::to_string(site_) + ");");
      return o + ".v";
    }
    case op::some: {
      const std::string v = declare(n->type);
      line(v + ".v = " + converted(kid(0), n->kids[0]->type, n->type->element) + ";");
      line(v + ".has = true;");
      return v;
    }
    case op::size: {
      const ir::type* t = n->kids[0]->type;
      if (t->k == kind::array) return define(n->type, std::to_string(t->count));
      return define(n->type, "(" + k_.type_name(n->type) + ")" + kid(0) + ".size");
    }
    case op::cast:
      return define(n->type, converted(kid(0), n->kids[0]->type, n->type));
    case op::logical_not:
      return define(n->type, "!" + kid(0));
    case op::negate:
    case op::bit_not: {
      const char* f = n->what == op::negate ? "neg" : "bit_not";
      const std::string a = converted(kid(0), n->kids[0]->type, n->type);
      if (n->type->k != kind::array) return define(n->type, std::string(f) + "<" + k_.type_name(n->type) + ">(" + a + ")");
      const std::string v = declare(n->type);
      unroll(n->type->count);
      line("for (u32 e = 0; e < " + std::to_string(n->type->count) + "; ++e) " + v + ".a[e] = " + f + "<" + k_.type_name(n->type->element) +
           ">(" + a + ".a[e]);");
      return v;
    }
    case op::add:
    case op::sub:
    case op::mul:
    case op::div:
    case op::mod:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::shl:
    case op::shr:
      return arithmetic(n);
    case op::lt:
    case op::le:
    case op::gt:
    case op::ge:
    case op::eq:
    case op::ne:
      return comparison(n);
    case op::logical_and:
    case op::logical_or:
      return logic(n);
    case op::select:
      return select(n);
    case op::call:
      return call(n);
    case op::nested:
      return n->text == "at" || n->text == "size" ? access(n) : nested(n);
    case op::loop:
      return loop(n);
  }
  throw not_generated("an unknown operation");
}

std::string expressions::literal(const node* n) {
  if (n->type->k == kind::string) return define(n->type, k_.text_literal(n->text));
  if (!ir::is_arithmetic(n->type->k)) throw not_generated("a constant of type " + std::string(n->type->name));
  return k_.literal(n->type->k, n->bits);
}

std::string expressions::constant_or_value(const node* n) {
  if (n->what != op::literal || !(ir::is_integer(n->type->k))) return value(n);
  const bool negative = ir::is_signed_integer(n->type->k) && static_cast<std::int64_t>(n->bits << (64 - n->type->size * 8)) < 0;
  std::uint64_t bits = n->bits;
  if (negative && n->type->size < 8) bits |= ~std::uint64_t{0} << (n->type->size * 8);
  return "((" + std::string(scalar_text(n->type->k)) + ")" + std::to_string(bits) + "ull)";
}

std::string expressions::converted(const std::string& text, const ir::type* from, const ir::type* to) {
  if (from == to || (from->k == kind::string && to->k == kind::string)) return text;
  if (ir::is_arithmetic(from->k) && ir::is_arithmetic(to->k)) {
    if (from->k == to->k) return text;
    if (to->k == kind::boolean) return "to_bool(" + text + ")";
    return "convert<" + std::string(scalar_text(to->k)) + ">(" + text + ")";
  }
  if (from->k == kind::array && to->k == kind::array && from->count == to->count && ir::is_arithmetic(to->element->k)) {
    if (k_.type_name(from) == k_.type_name(to)) return text;
    const std::string v = declare(to);
    unroll(to->count);
    line("for (u32 e = 0; e < " + std::to_string(to->count) + "; ++e) " + v +
         ".a[e] = " + converted(text + ".a[e]", from->element, to->element) + ";");
    return v;
  }
  if (from->k != kind::optional && to->k == kind::optional) {
    const std::string v = declare(to);
    line(v + ".v = " + converted(text, from, to->element) + ";");
    line(v + ".has = true;");
    return v;
  }
  if (from->k == kind::optional && to->k == kind::optional) {
    const std::string v = declare(to);
    line(v + ".v = " + converted(text + ".v", from->element, to->element) + ";");
    line(v + ".has = " + text + ".has;");
    return v;
  }
  if (same_shape(from, to)) return text;
  throw not_generated("no conversion from " + std::string(from->name) + " to " + std::string(to->name) + " on the GPU");
}

std::string expressions::arithmetic(const node* n) {
  const ir::type* t = n->type;
  if (t->k == kind::string) {
    const std::string first = value(n->kids[0]), second = value(n->kids[1]);
    return define_text(t, "joined", first + ", " + second);
  }
  const std::string f(n->what == op::bit_and   ? "bit_and"
                      : n->what == op::bit_or  ? "bit_or"
                      : n->what == op::bit_xor ? "bit_xor"
                                               : ir::name_of(n->what));
  const bool shift = n->what == op::shl || n->what == op::shr, division = n->what == op::div || n->what == op::mod;
  const ir::type* element = t->k == kind::array ? t->element : t;
  if (!ir::is_arithmetic(element->k)) throw not_generated("arithmetic on " + std::string(element->name));
  const std::string name(scalar_text(element->k));
  const auto apply = [&](const std::string& a, const std::string& b) {
    if (element->k == kind::boolean) {
      const char* sign = n->what == op::bit_and || n->what == op::mul ? "&" : n->what == op::bit_xor ? "^" : "|";
      return "(bool)(" + a + " " + sign + " " + b + ")";
    }
    return f + "<" + name + ">(" + a + ", " + b + (division ? ", " + k_.errors() + ", " + std::to_string(site_) : std::string()) + ")";
  };
  const std::string a = value(n->kids[0]), b = shift || division ? constant_or_value(n->kids[1]) : value(n->kids[1]);
  const ir::type *ta = n->kids[0]->type, *tb = n->kids[1]->type;
  if (t->k != kind::array) {
    const std::string first = converted(a, ta, t), second = converted(b, tb, t);
    return define(t, apply(first, second));
  }
  const std::string v = declare(t);
  const auto at = [&](const std::string& x, const ir::type* tx) {
    return tx->k == kind::array ? converted(x + ".a[e]", tx->element, element) : converted(x, tx, element);
  };
  unroll(t->count);
  const std::string first = at(a, ta), second = at(b, tb);
  line("for (u32 e = 0; e < " + std::to_string(t->count) + "; ++e) " + v + ".a[e] = " + apply(first, second) + ";");
  return v;
}

std::string expressions::less(const ir::type* t, const std::string& a, const std::string& b) {
  if (ir::is_arithmetic(t->k)) return "(" + a + " < " + b + ")";
  return k_.less_name(t) + "(" + a + ", " + b + ", false)";
}

std::string expressions::comparison(const node* n) {
  const ir::type* t = n->kids[0]->type;
  const std::string a = value(n->kids[0]), b = converted(value(n->kids[1]), n->kids[1]->type, t);
  if (ir::is_arithmetic(t->k)) {
    const char* sign = n->what == op::lt   ? "<"
                       : n->what == op::le ? "<="
                       : n->what == op::gt ? ">"
                       : n->what == op::ge ? ">="
                       : n->what == op::eq ? "=="
                                           : "!=";
    return define(n->type, a + " " + sign + " " + b);
  }
  switch (n->what) {
    case op::eq:
      return define(n->type, k_.equal_name(t) + "(" + a + ", " + b + ")");
    case op::ne:
      return define(n->type, "!" + k_.equal_name(t) + "(" + a + ", " + b + ")");
    case op::lt:
      return define(n->type, k_.less_name(t) + "(" + a + ", " + b + ", false)");
    case op::le:
      return define(n->type, k_.less_name(t) + "(" + a + ", " + b + ", true)");
    case op::gt:
      return define(n->type, k_.less_name(t) + "(" + b + ", " + a + ", false)");
    default:
      return define(n->type, k_.less_name(t) + "(" + b + ", " + a + ", true)");
  }
}

std::string expressions::select(const node* n) {
  const std::string c = value(n->kids[0]);
  const node *x = n->kids[1], *y = n->kids[2];
  if (total(x) && total(y)) {
    const std::string first = converted(value(x), x->type, n->type), second = converted(value(y), y->type, n->type);
    return define(n->type, c + " ? " + first + " : " + second);
  }
  const std::string v = declare(n->type);
  open();
  line(v + " = " + converted(value(x), x->type, n->type) + ";");
  const std::string then = close();
  open();
  line(v + " = " + converted(value(y), y->type, n->type) + ";");
  const std::string other = close();
  block("if (" + c + ")", then);
  block("else", other);
  return v;
}

std::string expressions::logic(const node* n) {
  const bool conjunction = n->what == op::logical_and;
  const std::string a = value(n->kids[0]);
  if (total(n->kids[1])) return define(n->type, a + (conjunction ? " && " : " || ") + value(n->kids[1]));
  const std::string v = declare(n->type);
  line(v + " = " + a + ";");
  open();
  line(v + " = " + converted(value(n->kids[1]), n->kids[1]->type, n->type) + ";");
  const std::string right = close();
  block(std::string("if (") + (conjunction ? "" : "!") + v + ")", right);
  return v;
}

std::string expressions::make(const node* n) {
  const bool array = n->type->k == kind::array;
  const std::size_t parts = array ? n->type->count : n->type->field_list.size();
  if ((!array && n->type->k != kind::record) || n->kids.size() != parts) throw not_generated("a value that is not made of its parts");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parts; ++i)
    texts.push_back(converted(value(n->kids[i]), n->kids[i]->type, array ? n->type->element : n->type->field_list[i].of));
  const std::string v = declare(n->type);
  for (std::size_t i = 0; i < parts; ++i)
    line(v + (array ? ".a[" + std::to_string(i) + "]" : ".f" + std::to_string(i)) + " = " + texts[i] + ";");
  return v;
}

std::string expressions::index(const node* n) {
  const ir::type* t = n->kids[0]->type;
  const std::string from = value(n->kids[0]);
  const std::string at = "inside(" + converted(value(n->kids[1]), n->kids[1]->type, ir::describe<std::int64_t>()) + ", " +
                         (t->k == kind::array ? std::to_string(t->count) : from + ".size") + ", " + k_.errors() + ", " +
                         std::to_string(site_) + ")";
  const std::string i = define(ir::describe<std::uint64_t>(), at);
  if (t->k == kind::array) return from + ".a[" + i + "]";
  if (t->k != kind::list) throw not_generated("an index into a type without elements");
  // An empty list has no element to stand in.
  const std::string v = declare(n->type);
  line("if (" + from + ".size) " + v + " = " + from + ".at[" + i + "]; else " + v + " = " + k_.type_name(n->type) + "{};");
  return v;
}

}  // namespace query::gpu_engine
