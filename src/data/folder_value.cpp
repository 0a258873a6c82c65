#include "data/folder_value.hpp"

#include "data/csv_value.hpp"

namespace query::data {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
// "a%20b" as the text that it stands for: names of folders take few characters.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 && digit_of(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

// The rest of a URL takes these as they are; names of files take bytes of UTF-8 besides.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~' ||
         static_cast<unsigned char>(c) >= 0x80;
}
void append_encoded(std::string& to, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  // A text that is the name for nulls is written otherwise.
  const bool as_null = text == null_folder;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_plain(c) && !(as_null && i == 0)) {
      to += c;
    } else {
      to += '%';
      to += digits[static_cast<unsigned char>(c) >> 4];
      to += digits[static_cast<unsigned char>(c) & 15];
    }
  }
}

const ir::type* without_optional(const ir::type* t) { return t->k == ir::kind::optional ? t->element : t; }

}  // namespace

std::optional<folder_value> value_in_path(std::string_view path, std::string_view column) {
  std::optional<folder_value> found;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = path.find('/', at);
    if (slash == std::string_view::npos) break;  // the file itself
    const std::string_view folder = path.substr(at, slash - at);
    if (const std::size_t sign = folder.find('='); sign != std::string_view::npos && decoded(folder.substr(0, sign)) == column) {
      const std::string_view text = folder.substr(sign + 1);
      found = folder_value{decoded(text), text == null_folder};
    }
    at = slash + 1;
  }
  return found;
}

void append_folder(std::string& to, std::string_view column, const ir::type* of, const void* value) {
  append_encoded(to, column);
  to += '=';
  if (of->k == ir::kind::optional) value = of->get.value(value);
  if (!value) {
    to += null_folder;
    return;
  }
  of = without_optional(of);
  if (of->k == ir::kind::string) return append_encoded(to, *static_cast<const std::string*>(value));
  std::string text;
  append_scalar(text, of, value);
  append_encoded(to, text);
}

bool names_folders(const ir::type* t) {
  t = without_optional(t);
  return ir::is_arithmetic(t->k) || t->k == ir::kind::string || t->counts.what == ir::unit::of::date;
}

}  // namespace query::data
