// Expression trees as infix text, for explain() and messages: "((price * f64(qty)) > 100)".
//
// Shared nodes are written wherever they are used, so the text is cut where it gets too deep or too long.
#include <ir/analysis.hpp>
#include <ir/time_text.hpp>
#include <ir/utf8.hpp>
#include <query/detail/node.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace query::ir {

std::string_view name_of(op o) {
  constexpr std::string_view names[] = {
      "literal", "null",    "row",     "field",   "variable", "collection", "key",  "member",      "element",     "index",
      "make",    "has_value", "value", "some",    "size",     "cast",       "negate", "bit_not",   "add",         "sub",
      "mul",     "div",     "mod",     "bit_and", "bit_or",   "bit_xor",    "shl",  "shr",         "lt",          "le",
      "gt",      "ge",      "eq",      "ne",      "logical_not", "logical_and", "logical_or", "select", "call",  "nested",
      "loop",    "aggregate"};
  static_assert(std::size(names) == static_cast<std::size_t>(op::aggregate) + 1);
  return names[static_cast<std::size_t>(o)];
}

namespace {

constexpr std::size_t max_text = 4096;
constexpr int max_depth = 48;
constexpr std::size_t max_items = 8, max_fields = 64;  // of an array, a record, before it is shortened
constexpr std::size_t max_string = 64;

std::string_view symbol(op o) {
  switch (o) {
    case op::add: return "+";
    case op::sub: return "-";
    case op::mul: return "*";
    case op::div: return "/";
    case op::mod: return "%";
    case op::bit_and: return "&";
    case op::bit_or: return "|";
    case op::bit_xor: return "^";
    case op::shl: return "<<";
    case op::shr: return ">>";
    case op::lt: return "<";
    case op::le: return "<=";
    case op::gt: return ">";
    case op::ge: return ">=";
    case op::eq: return "==";
    case op::ne: return "!=";
    case op::logical_and: return "&&";
    case op::logical_or: return "||";
    default: return {};
  }
}

template <class T> std::string number(std::uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v).ptr;
  std::string s(text.data(), end);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(v) && s.find_first_of(".e") == std::string::npos) s += ".0";
    if constexpr (sizeof(T) == 4) s += "f";
  }
  return s;
}

std::string escaped(std::string_view text) {
  std::string s = "\"";
  for (const char c : cut_between_characters(text, max_string)) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (s += '\\') += c;
    else if (c == '\n') s += "\\n";
    else if (c == '\t') s += "\\t";
    else if (c == '\r') s += "\\r";
    else if (byte < 0x20 || byte == 0x7f) ((s += "\\x") += digits[byte >> 4]) += digits[byte & 15];
    else s += c;
  }
  return s + (text.size() > max_string ? "...\"" : "\"");
}

std::string literal(const node* n) {
  if (is_time_text(n->type)) {
    std::string text;
    append_counted(text, n->type, &n->bits, {});
    return text;
  }
  switch (n->type->k) {
    case kind::boolean: return (n->bits & 1) != 0 ? "true" : "false";
    case kind::i8: return number<std::int8_t>(n->bits);
    case kind::i16: return number<std::int16_t>(n->bits);
    case kind::i32: return number<std::int32_t>(n->bits);
    case kind::i64: return number<std::int64_t>(n->bits);
    case kind::u8: return number<std::uint8_t>(n->bits);
    case kind::u16: return number<std::uint16_t>(n->bits);
    case kind::u32: return number<std::uint32_t>(n->bits);
    case kind::u64: return number<std::uint64_t>(n->bits);
    case kind::f32: return number<float>(n->bits);
    case kind::f64: return number<double>(n->bits);
    case kind::string: return escaped(n->text);
    default: return "literal";
  }
}

std::string numbered(std::string_view before, std::uint64_t n, std::string_view after = {}) {
  std::string s(before);
  s += std::to_string(n);
  s += after;
  return s;
}

// "t" of row 0 is left out; the right row of a join is r, elements of nested computations e2, e3...
std::string row_name(std::uint32_t id) {
  if (id == 0) return "row";
  return id == 1 ? "r" : numbered("e", id);
}

class writer {
 public:
  void write(const node* n, int depth);
  std::string take() {
    if (out_.size() > max_text) {
      out_.resize(cut_between_characters(out_, max_text).size());
      out_ += "...";
    }
    return std::move(out_);
  }

 private:
  void list(const node* n, std::size_t first, int depth) {
    const std::size_t most = n->type && n->type->k == kind::record ? max_fields : max_items;
    for (std::size_t i = first; i < n->kids.size(); ++i) {
      if (i > first) out_ += ", ";
      if (n->what == op::make && i - first == most && n->kids.size() > most + 1) {
        out_ += numbered("... ", n->kids.size() - i, " more");
        return;
      }
      write(n->kids[i], depth + 1);
    }
  }
  void call(std::string_view name, const node* n, int depth) {
    out_ += name;
    out_ += '(';
    list(n, 0, depth);
    out_ += ')';
  }
  std::string member_name(const node* n) const {
    const auto fields = n->kids[0]->type->fields();
    return n->bits < fields.size() ? std::string(fields[n->bits].name) : std::to_string(n->bits);
  }
  void nested(const node* n, int depth);
  void loop(const node* n, int depth);

  std::string out_;
};

void writer::write(const node* n, int depth) {
  if (out_.size() > max_text) return;
  if (!n || depth > max_depth) {
    out_ += "...";
    return;
  }
  if (const std::string_view s = symbol(n->what); !s.empty() && n->kids.size() == 2) {
    out_ += '(';
    write(n->kids[0], depth + 1);
    ((out_ += ' ') += s) += ' ';
    write(n->kids[1], depth + 1);
    out_ += ')';
    return;
  }
  switch (n->what) {
    case op::literal: out_ += literal(n); return;
    case op::null: out_ += "null"; return;
    case op::row: out_ += row_name(n->id); return;
    case op::field:
      // A tuple's field must not read as a number.
      if (n->id != 0 || (!n->text.empty() && n->text[0] >= '0' && n->text[0] <= '9')) (out_ += row_name(n->id)) += '.';
      out_ += n->text.empty() ? numbered("field@", n->bits) : n->text;
      return;
    case op::variable:
      out_ += numbered("v", n->id);
      if (n->bits != 0) out_ += numbered(".", n->bits);
      return;
    case op::collection: out_ += numbered("collection", n->bits); return;
    case op::key: out_ += "key"; return;
    case op::member:
      write(n->kids[0], depth + 1);
      (out_ += '.') += member_name(n);
      return;
    case op::element:
      write(n->kids[0], depth + 1);
      out_ += numbered("[", n->bits, "]");
      return;
    case op::index:
      write(n->kids[0], depth + 1);
      out_ += '[';
      write(n->kids[1], depth + 1);
      out_ += ']';
      return;
    case op::make:
      out_ += n->type->name;
      out_ += '{';
      list(n, 0, depth);
      out_ += '}';
      return;
    case op::cast: return call(n->type->name, n, depth);
    case op::select: return call("iff", n, depth);  // as users write it: select is a verb
    case op::negate:
    case op::bit_not:
    case op::logical_not:
      out_ += n->what == op::negate ? '-' : n->what == op::bit_not ? '~' : '!';
      write(n->kids[0], depth + 1);
      return;
    case op::call: return call(narrowed_part(n) ? "narrow<" + std::string(n->type->name) + ">" : n->text, n, depth);
    case op::nested: return nested(n, depth);
    case op::loop: return loop(n, depth);
    case op::aggregate: return call(n->text, n, depth);
    default: return call(name_of(n->what), n, depth);
  }
}

// "min(legs, e2 -> (e2.price * 2.0))", "fold(legs, 0, (v2, e2) -> (v2 + e2))"
void writer::nested(const node* n, int depth) {
  out_ += n->text;
  out_ += '(';
  for (std::size_t i = 0; i < n->kids.size(); ++i) {
    if (i > 0) out_ += ", ";
    if (i > 0 && i + 1 == n->kids.size() && n->text != "at" && n->text != "size")
      out_ += n->text == "fold" ? numbered("(v", n->id, numbered(", e", n->id, ") -> ")) : numbered("e", n->id, " -> ");
    write(n->kids[i], depth + 1);
  }
  out_ += ')';
}

// "loop(v3 = (0, x), while (v3 < 10), (v3 + 1), ...)"
void writer::loop(const node* n, int depth) {
  const std::size_t states = n->bits;
  out_ += numbered("loop(v", n->id, " = ");
  for (std::size_t i = 0; i < n->kids.size(); ++i) {
    if (i > 0) out_ += ", ";
    if (i == states) out_ += "while ";
    if (i == states + 1) out_ += "next ";
    write(n->kids[i], depth + 1);
  }
  out_ += ')';
}

}  // namespace

std::string show(const node* n) {
  writer w;
  w.write(n, 0);
  return w.take();
}

std::string show(const traced& t) {
  if (t) return show(t.root);
  std::string s = "opaque: ";
  s += t.reason;
  return s;
}

}  // namespace query::ir
