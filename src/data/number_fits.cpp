#include <query/detail/failure.hpp>
#include <query/detail/narrowing.hpp>

#include "data/format_value.hpp"

namespace query::detail {

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
    if (i == field) text += number;
    else data::append_value(text, f.of, static_cast<const std::byte*>(row) + f.offset);
  }
  throw unplaced_error(text + "}");
}

}  // namespace query::detail
