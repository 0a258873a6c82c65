#include "data/csv_advice.hpp"

#include <algorithm>
#include <optional>

#include "data/csv_cursor.hpp"
#include "data/csv_field.hpp"
#include "data/csv_value.hpp"
#include "data/format_value.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

constexpr const char* as_text = "read it as a std::string and convert that";
constexpr std::string_view digits = "0123456789", delimiters = ";\t|,";

std::string or_as_text(std::string_view why) {
  std::string all(why);
  return all.append(": ").append(as_text);
}

std::vector<std::string> split(std::string_view line, char delimiter, csv_options options) {
  options.delimiter = delimiter;
  std::vector<std::string> fields;
  std::string scratch;
  const char* const end = line.data() + line.size();
  separator_cursor cursor(line.data(), end, delimiter, options.quote);
  for (const char* field = line.data();;) {
    const char* stop = cursor.next();
    fields.emplace_back(trim_blanks(read_field({field, static_cast<std::size_t>(stop - field)}, options, scratch).text));
    if (stop == end) return fields;
    field = stop + 1;
  }
}

std::string name_delimiter(char d) { return "the line seems to have another delimiter: .delimiter = '" + printable({&d, 1}) + "'"; }

// That the line seems to have, in place of the one of the options: it makes `accepts` true of the fields.
template <class F> std::optional<std::string> other_delimiter(std::string_view line, const csv_options& options, F accepts) {
  for (const char d : delimiters)
    if (d != options.delimiter && d != options.quote && line.find(d) != std::string_view::npos && accepts(split(line, d, options)))
      return name_delimiter(d);
  return std::nullopt;
}

template <class T> bool reads_as(std::string_view text) {
  T value;
  return parse_scalar(ir::describe<T>(), text, &value) == parsed::ok;
}

// The type of a field that holds the number; null for none.
const char* type_that_holds(std::string_view text) {
  if (reads_as<std::int64_t>(text)) return "std::int64_t";
  if (reads_as<std::uint64_t>(text)) return "std::uint64_t";
  return reads_as<double>(text) ? "double" : nullptr;
}

}  // namespace

std::string advice_for_header(std::string_view line, const std::vector<std::string>& names, std::string_view wanted,
                              std::string_view field, const csv_options& options) {
  if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return trim_blanks(n) == wanted; }))
    return "blanks are part of a name: .trim = true drops them";
  const auto named = [&](const std::vector<std::string>& of) { return std::find(of.begin(), of.end(), wanted) != of.end(); };
  if (const auto other = other_delimiter(line, options, named)) return *other;
  const auto number = [](const std::string& n) { return n.find_first_of(digits) != std::string::npos && reads_as<double>(n); };
  if (std::any_of(names.begin(), names.end(), number)) return "if the first line holds no names: .header = false";
  return "for a column of another name: .columns = {{\"" + std::string(field) + "\", \"its name\"}}";
}

std::string advice_for_quotes(quoting how, char at, const csv_options& options) {
  const bool other = how == quoting::text_after_quote && at != options.delimiter && delimiters.find(at) != std::string_view::npos;
  return other ? "; " + name_delimiter(at) : std::string();
}

std::string advice_for_few_columns(std::string_view line, std::size_t wanted, const csv_options& options) {
  const auto enough = [&](const std::vector<std::string>& of) { return of.size() >= wanted; };
  return other_delimiter(line, options, enough).value_or("take the fields that the file does not have out of the record");
}

std::string advice_for_value(const ir::type* type, std::string_view text) {
  std::uint64_t room;
  if (const std::string_view bare = trim_blanks(text); bare.size() != text.size() && parse_scalar(type, bare, &room) == parsed::ok)
    return ".trim = true drops the blanks";
  if (is_letter(type)) return "a char is one letter: read it as a std::string";
  if (type->k == ir::kind::boolean) return or_as_text("a bool is true, false, t, f, 1 or 0");
  if (type->counts.what == ir::unit::of::duration) return or_as_text("a duration is a count of its unit, or as in PT1H30M");
  if (ir::is_time_text(type))
    return or_as_text("a time is as in 2024-02-29T13:45:00, without more digits than its type counts; for another format: .time_format");
  if (type->is_enum) return or_as_text("an enum is an integer in a file");
  if (!ir::is_floating(type->k))
    if (const char* holds = type_that_holds(text)) return std::string("make the field a ") + holds;
  if (text.size() <= 8 && text.find_first_of(digits) == std::string_view::npos && printable(text) == text)
    return "if that is a null: .null_text = \"" + std::string(text) + "\" and a std::optional field; else " + as_text;
  std::string all(as_text);
  return all.append(", as dates, decimal commas and thousands separators need it");
}

std::string advice_for_large_number(std::string_view text) {
  if (const char* holds = type_that_holds(text)) return std::string("make the field a ") + holds;
  return or_as_text("no type of numbers holds it");
}

}  // namespace query::data
