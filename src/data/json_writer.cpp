#include "data/json_writer.hpp"

#include <cmath>
#include <string_view>
#include <vector>

#include "data/csv_value.hpp"
#include "data/rejected_list.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

void append_string(std::string& to, std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  to += '"';
  for (const char c : text) {
    switch (c) {
      case '"': to += "\\\""; break;
      case '\\': to += "\\\\"; break;
      case '\n': to += "\\n"; break;
      case '\r': to += "\\r"; break;
      case '\t': to += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) to.append("\\u00").append({hex[c >> 4], hex[c & 15]});
        else to += c;
    }
  }
  to += '"';
}

void append_elements(std::string& to, const json_shape& element, const void* first, std::size_t n) {
  to += '[';
  for (std::size_t i = 0; i < n; ++i) {
    if (i != 0) to += ',';
    append_json(to, element, static_cast<const std::byte*>(first) + i * element.of->size);
  }
  to += ']';
}

void append_object(std::string& to, const json_shape& shape, const void* value) {
  const auto fields = shape.of->fields();
  to += '{';
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i != 0) to += ',';
    append_string(to, shape.keys[i]);
    to += ':';
    append_json(to, shape.parts[i], static_cast<const std::byte*>(value) + fields[i].offset);
  }
  to += '}';
}

bool is_number(const ir::type* t, const void* value) {
  if (t->k == ir::kind::f64) return std::isfinite(*static_cast<const double*>(value));
  return t->k != ir::kind::f32 || std::isfinite(*static_cast<const float*>(value));
}

}  // namespace

void append_json(std::string& to, const json_shape& shape, const void* value) {
  const ir::type* const t = shape.of;
  if (ir::is_time_text(t)) {  // a date too, which is a record
    if (!is_number(t, value)) {
      to += "null";
      return;
    }
    std::string text;
    append_scalar(text, t, value);
    return append_string(to, text);
  }
  switch (t->k) {
    case ir::kind::record: append_object(to, shape, value); break;
    case ir::kind::array: append_elements(to, shape.parts.front(), value, t->count); break;
    case ir::kind::list: append_elements(to, shape.parts.front(), t->get.data(value), t->get.size(value)); break;
    case ir::kind::string: append_string(to, *static_cast<const std::string*>(value)); break;
    case ir::kind::optional:
      if (const void* const inner = t->get.value(value)) append_json(to, shape.parts.front(), inner);
      else to += "null";
      break;
    default:
      if (is_letter(t)) append_string(to, {static_cast<const char*>(value), 1});
      else if (is_number(t, value)) append_scalar(to, t, value);
      else to += "null";
  }
}

json_shape checked_json_shape(const ir::type* row, const json_options& options) {
  check_reading_options(options.on_error, options.rejected, options.file_name_in, "write_json_lines");
  return json_shape_of(row, options, "write_json_lines");
}

json_writer::json_writer(const std::string& path, const json_options& options, const ir::type* row)
    : shape_(checked_json_shape(row, options)), file_(path, "write_json_lines") {}

void json_writer::write(const void* rows, std::size_t n) {
  const auto* row = static_cast<const std::byte*>(rows);
  for (std::size_t i = 0; i < n; ++i, row += shape_.of->size) {
    append_json(buffer_, shape_, row);
    buffer_ += '\n';
    if (buffer_.size() >= buffer_bytes) flush();
  }
}

void json_writer::finish(bool surely) {
  flush();
  file_.finish(surely);
}

void json_writer::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

}  // namespace query::data
