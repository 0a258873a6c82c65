#include "data/csv_record_reader.hpp"

#include <algorithm>

#include <query/detail/failure.hpp>

#include "data/csv_advice.hpp"
#include "data/csv_value.hpp"
#include "data/format_value.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

bool scalar(const ir::type* t) { return ir::is_arithmetic(t->k) || t->k == ir::kind::string || ir::is_time_text(t); }

std::string quoted(std::string_view text) { return "'" + cut_text(printable(text.substr(0, 400)), 40) + "'"; }

}  // namespace

void check_csv_row(const ir::type* row, const std::vector<leaf_column>& leaves, const csv_options& options,
                   std::string_view verb) {
  const auto refuse = [&](const std::string& what) { throw detail::unplaced_error(std::string(verb) + ": " + what); };
  if (leaves.empty()) refuse("the row type has no columns: " + type_name(row));
  for (const leaf_column& leaf : leaves) {
    if (!leaf.within.empty() && verb == "read_csv")
      refuse("a record that may be missing cannot be read: field '" + leaf.name + "' is part of " + type_name(leaf.within.front().of) +
             "; make its fields std::optional");
    if (scalar(leaf.value_type())) continue;
    if (leaf.of->k == ir::kind::list)
      refuse("a column of a CSV file cannot hold a list: field '" + leaf.name + "' is " + type_name(leaf.of) +
             "; use a std::array, or one row for each element (select_many)");
    refuse("a column of a CSV file holds a number, a bool, an enum or a string, or std::optional of those: field '" +
           leaf.name + "' is " + type_name(leaf.of));
  }
  for (const csv_column& c : options.columns)
    if (std::none_of(leaves.begin(), leaves.end(), [&](const leaf_column& leaf) { return leaf.name == c.field; }))
      refuse("csv_options.columns names a field that " + type_name(row) + " does not have: '" + c.field + "'");
}

std::string csv_column_of(const leaf_column& leaf, const csv_options& options) {
  for (const csv_column& c : options.columns)
    if (c.field == leaf.name) return c.column;
  return leaf.name;
}

const char* what_is_wrong(quoting how) {
  if (how == quoting::never_closed)
    return "the quote opened here is never closed: close it, or set csv_options.quote = '\\0' to take quotes as text";
  if (how == quoting::stray_quote)
    return "a quote inside a field without quotes: put the field in quotes and double those inside, or set "
           "csv_options.quote = '\\0' to take quotes as text";
  if (how == quoting::text_after_quote)
    return "text after the closing quote of a field: a quote inside a quoted field is written twice";
  return nullptr;
}

bool csv_record_reader::read(void* row) {
  while (!keep_blank_lines_ && blank_line(at_, end_)) at_ = cursor_.next() + 1;
  const char* const record = at_;
  const std::size_t last = columns_.size() - 1;
  for (std::size_t i = 0;; ++i) {
    const char* const stop = cursor_.next();
    const bool line_ends = stop == end_ || *stop == '\n';
    std::string_view raw(at_, static_cast<std::size_t>(stop - at_));
    if (line_ends && raw.ends_with('\r')) raw.remove_suffix(1);
    bool right;
    if (line_ends != (i == last)) right = good_quotes(raw) && wrong_width(record);
    else if (columns_[i] != nullptr) right = convert(*columns_[i], raw, row);
    else right = !cursor_.quotes_seen() || good_quotes(raw);
    if (!right) {
      record_ = record;
      stop_ = stop;
      return false;
    }
    if (stop == end_) return at_ = end_, true;
    at_ = stop + 1;
    if (line_ends) return true;
  }
}

std::string_view csv_record_reader::reject() {
  while (stop_ != end_ && *stop_ != '\n') stop_ = cursor_.next();
  at_ = stop_ == end_ ? end_ : stop_ + 1;
  std::string_view text(record_, static_cast<std::size_t>(stop_ - record_));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool csv_record_reader::convert(const leaf_column& leaf, std::string_view raw, void* row) {
  csv_field field{raw, quoting::none, nullptr};
  if (!plain_ || cursor_.quotes_seen()) {
    field = read_field(raw, options_, scratch_);
    if (what_is_wrong(field.how) != nullptr) {
      (void)wrong_quotes(field);
      error_.column = csv_column_of(leaf, options_);
      return false;
    }
  }
  const std::string_view text = field.text;
  const ir::type* type = leaf.value_type();
  const bool bare = field.how == quoting::none;
  void* to = static_cast<std::byte*>(row) + leaf.offset;

  if (leaf.optional()) {
    // Quotes make an empty string a string; nothing makes it a number.
    const bool null = text.empty() ? bare || type->k != ir::kind::string : bare && text == options_.null_text;
    if (null) return true;
    to = leaf.of->get.emplace(to);
  } else if (!null_is_empty_ && bare && text == options_.null_text) {
    return wrong_value(leaf, raw, text, false);
  }
  const parsed result = parse_scalar(type, text, to, options_.time_format);
  if (result == parsed::ok) return true;
  if (leaf.optional() && text == options_.null_text) {  // by a program that puts everything in quotes
    leaf.of->get.reset(static_cast<std::byte*>(row) + leaf.offset);
    return true;
  }
  return wrong_value(leaf, raw, text, result == parsed::out_of_range);
}

bool csv_record_reader::good_quotes(std::string_view raw) {
  const csv_field field = read_field(raw, options_, scratch_);
  return what_is_wrong(field.how) == nullptr || wrong_quotes(field);
}

bool csv_record_reader::wrong_quotes(const csv_field& field) {
  error_ = {field.at, false, what_is_wrong(field.how), {}};
  return false;
}

bool csv_record_reader::wrong_value(const leaf_column& leaf, std::string_view raw, std::string_view text, bool out_of_range) {
  error_.at = raw.data();
  error_.row_matters = false;
  error_.column = csv_column_of(leaf, options_);
  const std::string type = type_name(leaf.value_type()), column = "column '" + error_.column + "'";
  if (text.empty() || text == options_.null_text)
    error_.what = "a null in " + column + ", which is " + type + ": make the field std::optional to allow nulls";
  else if (out_of_range)
    error_.what = "out of range of " + type + " for " + column + ": " + quoted(text) + "; " + advice_for_large_number(text);
  else
    error_.what = "expected " + type + " for " + column + ", found " + quoted(text) + "; " + advice_for_value(leaf.value_type(), text);
  return false;
}

bool csv_record_reader::wrong_width(const char* record) {
  separator_cursor cursor(record, end_, options_.delimiter, options_.quote);
  std::size_t found = 1;
  const char* stop = cursor.next();
  for (; stop != end_ && *stop != '\n'; stop = cursor.next()) ++found;
  error_ = {record, true, "the line has " + std::to_string(found) + (found == 1 ? " field, and the " : " fields, and the ") +
                              (options_.header ? "header" : "first line") + " has " + std::to_string(columns_.size()) +
                              (found > columns_.size() ? "; put a field that holds the delimiter in quotes" : "; add the missing ones"),
            {}};
  return false;
}

}  // namespace query::data
