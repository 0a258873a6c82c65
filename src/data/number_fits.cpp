#include <charconv>
#include <cstring>

#include <query/detail/failure.hpp>
#include <query/detail/narrowing.hpp>

#include "data/format_value.hpp"

namespace query::detail {

namespace {

// The field as it was given, up to the number that does not fit: what stands before it fits, what comes after it nobody has looked at. The
// row has that number cut to its type.
class given_field {
 public:
  given_field(const std::string& number, const ir::type* to) : number_(number), to_(to) {
    const char* const end = number.data() + number.size();
    if (number.starts_with('-')) {
      std::int64_t x = 0;
      parsed_ = std::from_chars(number.data(), end, x).ec == std::errc{};
      cut_ = static_cast<std::uint64_t>(x);
    } else {
      parsed_ = std::from_chars(number.data(), end, cut_).ec == std::errc{};
    }
  }
  // True where the number was found.
  bool append(std::string& text, const ir::type* t, const void* at) const {
    if (t->k == ir::kind::array) return append_array(text, t, static_cast<const std::byte*>(at));
    if (const void* value = t->k == ir::kind::optional ? t->get.value(at) : nullptr) return append(text, t->element, value);
    const bool found = parsed_ && t == to_ && std::memcmp(at, &cut_, t->size) == 0;  // machines are little-endian
    if (found) text += number_;
    else data::append_value(text, t, at);
    return found;
  }

 private:
  bool append_array(std::string& text, const ir::type* t, const std::byte* at) const {
    text += "[";
    for (std::size_t i = 0; i < t->count; ++i) {
      if (i > 0) text += ", ";
      if (append(text, t->element, at + i * t->element->size)) {
        text += i + 1 < t->count ? ", ...]" : "]";
        return true;
      }
    }
    text += "]";
    return false;
  }

  const std::string& number_;
  const ir::type* to_;
  std::uint64_t cut_ = 0;
  bool parsed_ = false;
};

}  // namespace

std::string does_not_fit_text(std::string_view number, std::string_view part, const ir::type* to) {
  std::string text = "query::make: ";
  text += number.empty() ? "a number" : number;
  text += " does not fit ";
  text += part;
  text += ", which is ";
  text += to->name;
  text += "; give the field a wider type, or write query::cast<T>(x), which lets it wrap";
  return text;
}

void does_not_fit(const ir::type* record, const void* row, std::size_t field, const std::string& number, const ir::type* to) {
  std::string text = does_not_fit_text(number, std::string(record->name) + "." + std::string(record->field_list[field].name), to);
  text += ". The row: {";
  for (std::size_t i = 0; i < record->field_list.size(); ++i) {
    const ir::field& f = record->field_list[i];
    if (i > 0) text += ", ";
    text += f.name;
    text += ": ";
    const void* const value = static_cast<const std::byte*>(row) + f.offset;
    if (i == field && f.of->k != ir::kind::array) text += number;
    else if (i == field) given_field(number, to).append(text, f.of, value);
    else data::append_value(text, f.of, value);
  }
  throw unplaced_error(text + "}");
}

}  // namespace query::detail
