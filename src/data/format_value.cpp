#include "data/format_value.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

#include "data/csv_value.hpp"
#include "ir/time_text.hpp"
#include "ir/utf8.hpp"

namespace query::data {
namespace {

constexpr std::size_t shown_elements = 16;
constexpr std::string_view ellipsis = "\u2026", replacement = "\uFFFD";

void append_escaped(std::string& out, unsigned char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: out += "\\x"; out += hex[c >> 4]; out += hex[c & 15];
  }
}

void append_quoted(std::string& out, const std::string& s) {
  out += '"';
  for (const char c : printable(s)) {
    if (c == '"') out += '\\';
    out += c;
  }
  out += '"';
}

void append_elements(std::string& out, const ir::type* element, const void* first, std::size_t n, int digits);

void append_record(std::string& out, const ir::type* type, const void* value, int digits) {
  const char* between = "{";
  for (const ir::field& f : type->fields()) {
    out.append(between).append(f.name).append(": ");
    append_value(out, f.of, static_cast<const std::byte*>(value) + f.offset, digits);
    between = ", ";
  }
  if (type->fields().empty()) out += '{';
  out += '}';
}

void append_elements(std::string& out, const ir::type* element, const void* first, std::size_t n, int digits) {
  out += '[';
  for (std::size_t i = 0; i < n; ++i) {
    if (i != 0) out += ", ";
    if (i == shown_elements) {
      out.append(ellipsis).append(" ").append(format_count(n - i)).append(" more");
      break;
    }
    append_value(out, element, static_cast<const std::byte*>(first) + i * element->size, digits);
  }
  out += ']';
}

double as_double(const ir::type* type, const void* value) {
  if (type->k == ir::kind::f64) return *static_cast<const double*>(value);
  return static_cast<double>(*static_cast<const float*>(value));
}

}  // namespace

std::string format_value(const ir::type* type, const void* value, int digits) {
  if (type->k == ir::kind::optional) {
    const void* inside = type->get.value(value);
    return inside == nullptr ? "null" : format_value(type->element, inside, digits);
  }
  if (type->k == ir::kind::string) return printable(*static_cast<const std::string*>(value));
  if (is_letter(type)) return printable({static_cast<const char*>(value), 1});
  std::string out;
  append_value(out, type, value, digits);
  return out;
}

void append_value(std::string& out, const ir::type* type, const void* value, int digits) {
  if (ir::is_time_text(type)) return append_scalar(out, type, value);
  switch (type->k) {
    case ir::kind::string: append_quoted(out, *static_cast<const std::string*>(value)); return;
    case ir::kind::f32:
    case ir::kind::f64: out += format_number(as_double(type, value), digits); return;
    case ir::kind::record: append_record(out, type, value, digits); return;
    case ir::kind::array: append_elements(out, type->element, value, type->count, digits); return;
    case ir::kind::list: append_elements(out, type->element, type->get.data(value), type->get.size(value), digits); return;
    case ir::kind::opaque: out += '<'; out += type->name; out += '>'; return;
    case ir::kind::optional:
      if (const void* inside = type->get.value(value)) append_value(out, type->element, inside, digits);
      else out += "null";
      return;
    default:
      if (is_letter(type)) out.append("'").append(printable({static_cast<const char*>(value), 1})).append("'");
      else append_scalar(out, type, value);
  }
}

std::string format_number(double x, int digits) {
  if (std::isnan(x)) return "nan";
  char text[64];
  const int precision = digits < 1 ? 1 : digits > 17 ? 17 : digits;
  const auto [end, error] = std::to_chars(text, text + sizeof text, x, std::chars_format::general, precision);
  return error == std::errc{} ? std::string(text, end) : std::string("?");
}

std::string format_count(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = ir::code_point_bytes(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (n == 0) out += replacement;
    else if (c < 0x20 || c == 0x7F) append_escaped(out, c);
    else out += text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::size_t code_points(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += !ir::is_continuation(c);
  return n;
}

std::string cut_text(std::string text, std::size_t width, std::string_view mark) {
  if (code_points(text) <= width) return text;
  std::size_t kept = 0, points = 0;
  const auto continues = ir::is_continuation;
  while (kept < text.size() && (points + 1 < width || continues(text[kept]))) points += continues(text[kept++]) ? 0 : 1;
  text.resize(kept);
  // `kept` stops behind width - 1 whole code points.
  return width == 0 ? std::string() : text.append(mark);
}

}  // namespace query::data
