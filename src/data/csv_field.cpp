#include "data/csv_field.hpp"

#include <query/detail/failure.hpp>

#include "data/rejected_list.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

bool blank(char c) { return c == ' ' || c == '\t'; }

// `text` starts with a quote.
csv_field read_quoted(std::string_view text, char quote, std::string& scratch) {
  std::size_t close = text.find(quote, 1);
  if (close == text.size() - 1) return {text.substr(1, text.size() - 2), quoting::quoted, nullptr};
  scratch.clear();
  std::size_t from = 1;
  while (close != std::string_view::npos && close + 1 < text.size() && text[close + 1] == quote) {
    scratch.append(text.substr(from, close + 1 - from));
    from = close + 2;
    close = text.find(quote, from);
  }
  if (close == std::string_view::npos) return {text, quoting::never_closed, text.data()};
  if (close + 1 != text.size()) return {text, quoting::text_after_quote, text.data() + close + 1};
  scratch.append(text.substr(from, close - from));
  return {scratch, quoting::quoted, nullptr};
}

bool needs_quotes(std::string_view text, const csv_options& o) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  for (const char c : text)
    if (c == o.delimiter || c == '\n' || c == '\r' || (c == o.quote && c != '\0')) return true;
  if (text == o.null_text) return !text.empty();
  return (o.trim && text != trim_blanks(text)) || text.starts_with(byte_order_mark);
}

bool part_of_a_value(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' || c == '-';
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

csv_field read_field(std::string_view raw, const csv_options& options, std::string& scratch) {
  if (options.trim) raw = trim_blanks(raw);
  if (options.quote == '\0' || raw.empty()) return {raw, quoting::none, nullptr};
  if (raw.front() == options.quote) return read_quoted(raw, options.quote, scratch);
  const std::size_t stray = raw.find(options.quote);
  if (stray != std::string_view::npos) return {raw, quoting::stray_quote, raw.data() + stray};
  return {raw, quoting::none, nullptr};
}

void append_field(std::string& out, std::string_view text, const csv_options& options, bool always) {
  if (!always && !needs_quotes(text, options)) {
    out += text;
    return;
  }
  if (options.quote == '\0')
    throw detail::unplaced_error("write_csv: a value needs quotes, and csv_options.quote is off: " + std::string(text.substr(0, 40)));
  out += options.quote;
  for (const char c : text) {
    if (c == options.quote) out += c;
    out += c;
  }
  out += options.quote;
}

void check_options(const csv_options& o, std::string_view verb) {
  const auto refuse = [&](const char* what) { throw detail::unplaced_error(std::string(verb) + ": " + what); };
  if (o.delimiter == '\0' || o.delimiter == '\n' || o.delimiter == '\r' || part_of_a_value(o.delimiter))
    refuse("csv_options.delimiter must not be a line end, a letter, a digit or one of . + -");
  if (o.quote == '\n' || o.quote == '\r' || part_of_a_value(o.quote))
    refuse("csv_options.quote must not be a line end, a letter, a digit or one of . + -");
  if (o.quote == o.delimiter) refuse("csv_options.quote and .delimiter are the same character");
  if (o.trim && (blank(o.delimiter) || blank(o.quote)))
    refuse("csv_options.trim drops blanks and tabs: .delimiter and .quote must be neither");
  for (const char c : o.null_text)
    if (c == o.delimiter || c == '\n' || c == '\r' || (c == o.quote && c != '\0'))
      refuse("csv_options.null_text must not hold the delimiter, the quote or a line end");
  if (o.trim && o.null_text != trim_blanks(o.null_text))
    refuse("csv_options.null_text starts or ends with blanks, which .trim drops");
  if (const std::string wrong = ir::wrong_format(o.time_format); !wrong.empty())
    refuse(("csv_options.time_format '" + o.time_format + "': " + wrong).c_str());
  check_reading_options(o.on_error, o.rejected, o.file_name_in, verb);
  if (!o.header && !o.columns.empty()) refuse("csv_options.columns names columns of a header, and .header is false");
}

}  // namespace query::data
