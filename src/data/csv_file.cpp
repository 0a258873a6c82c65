#include "data/csv_file.hpp"

#include <algorithm>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/csv_advice.hpp"
#include "data/csv_cursor.hpp"
#include "data/csv_record_reader.hpp"
#include "data/format_value.hpp"

namespace query::data {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 40;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > shown) text += ", ... (" + std::to_string(names.size()) + ")";
  return text;
}

std::string_view without_line_end(const char* begin, const char* end) {
  if (begin != end && end[-1] == '\n') --end;
  if (begin != end && end[-1] == '\r') --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

csv_file::csv_file(std::string path, csv_options options, const ir::type* row, std::size_t chunk_bytes, std::string name)
    : record_file(path, name.empty() ? path : std::move(name), "read_csv", options.quote, row, options.file_name_in, chunk_bytes),
      options_(std::move(options)), leaves_(leaf_columns(row)) {
  check_options(options_, "read_csv");
  std::erase_if(leaves_, [&](const leaf_column& leaf) { return is_file_name(leaf.top_field); });
  check_csv_row(row_, leaves_, options_, "read_csv");
  names_first_line_ = options_.header;
  const char* end;
  const char* const first = first_record(end);
  if (options_.header) {
    if (first == text_end()) fail("the file is empty; expected a line with the columns' names: " + list_of(wanted_columns()));
    match_header(first, end);
  } else {
    match_positions(first, end);
  }
  records_begin_at(options_.header ? end : first_byte(), columns_.size() == 1 && columns_[0] != nullptr && columns_[0]->optional());
}

std::unique_ptr<record_parser> csv_file::parser(const char* begin, const char* end, std::span<const bool> wanted) const {
  std::vector<const leaf_column*> columns = columns_;
  for (const leaf_column*& leaf : columns)
    if (leaf != nullptr && !wanted.empty() && !wanted[leaf->top_field]) leaf = nullptr;
  return std::make_unique<csv_record_reader>(begin, end, std::move(columns), options_, keep_blank_lines_);
}

std::vector<std::string> csv_file::wanted_columns() const {
  std::vector<std::string> names;
  for (const leaf_column& leaf : leaves_) names.push_back(csv_column_of(leaf, options_));
  return names;
}

void csv_file::match_header(const char* begin, const char* end) {
  const std::vector<std::string> names = fields_of(begin, end);
  columns_.assign(names.size(), nullptr);
  for (const leaf_column& leaf : leaves_) {
    const std::string wanted = csv_column_of(leaf, options_);
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end())
      fail("no column '" + printable(wanted) + "'" + (wanted == leaf.name ? "" : " for field '" + leaf.name + "'") +
           "; the file has: " + list_of(names) + "; " +
           advice_for_header(without_line_end(begin, end), names, wanted, leaf.name, options_));
    if (std::find(found + 1, names.end(), wanted) != names.end())
      fail("the file has more than one column '" + printable(wanted) + "'; rename one of them in the file");
    const leaf_column*& place = columns_[static_cast<std::size_t>(found - names.begin())];
    if (place != nullptr)
      fail("column '" + printable(wanted) + "' is asked for by '" + place->name + "' and '" + leaf.name +
           "'; name another one in csv_options.columns");
    place = &leaf;
  }
}

void csv_file::match_positions(const char* first, const char* end) {
  std::size_t width = leaves_.size();
  if (first != text_end()) {
    width = fields_of(first, end).size();
    if (width < leaves_.size()) {
      fail(first, "expected " + std::to_string(leaves_.size()) + " columns, found " + std::to_string(width) + ": " +
                      list_of(wanted_columns()) + "; " + advice_for_few_columns(without_line_end(first, end), leaves_.size(), options_));
    }
  }
  columns_.assign(width, nullptr);
  for (std::size_t i = 0; i < leaves_.size(); ++i) columns_[i] = &leaves_[i];
}

std::vector<std::string> csv_file::fields_of(const char* begin, const char* end) const {
  const std::string_view line = without_line_end(begin, end);
  end = begin + line.size();
  std::vector<std::string> fields;
  std::string scratch;
  separator_cursor cursor(begin, end, options_.delimiter, options_.quote);
  for (const char* field = begin;;) {
    const char* stop = cursor.next();
    const csv_field f = read_field({field, static_cast<std::size_t>(stop - field)}, options_, scratch);
    if (const char* wrong = what_is_wrong(f.how)) fail(f.at, wrong + advice_for_quotes(f.how, *f.at, options_));
    fields.emplace_back(f.text);
    if (stop == end) return fields;
    field = stop + 1;
  }
}

// Goes through the text field by field.
void csv_file::report_open_quote(const char* data) const {
  const char quote = options_.quote;
  const char *p = data, *end = text_end();
  for (bool field_starts = true; p != end; ++p) {
    if (*p == quote && !field_starts) fail(p, what_is_wrong(quoting::stray_quote));
    if (*p == quote) {
      const char* opened = p;
      do {
        p = std::find(p + 1, end, quote);
        if (p == end) fail(opened, what_is_wrong(quoting::never_closed));
      } while (p + 1 != end && p[1] == quote && ++p != end);
      field_starts = false;
      // Behind the closing quote there may be a separator, a line end or, with trim, blanks; else the next quote is stray.
    } else {
      field_starts = *p == options_.delimiter || *p == '\n' || (field_starts && options_.trim && (*p == ' ' || *p == '\t'));
    }
  }
  record_file::report_open_quote(data);
}

}  // namespace query::data
