// Fills rows from CSV records, one call a record.
//
//   csv_record_reader reader(begin, end, columns, options, false);
//   if (!reader.read(row)) report(reader.error());
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/csv.hpp>

#include "data/csv_cursor.hpp"
#include "data/csv_field.hpp"
#include "data/leaf_columns.hpp"
#include "data/record_parser.hpp"

namespace query::data {

// Throws user_error if rows of this type cannot be read from or written to CSV, or options.columns does not fit them.
void check_csv_row(const ir::type* row, const std::vector<leaf_column>& leaves, const csv_options& options,
                   std::string_view verb);

// The file's name for a column of the row.
std::string csv_column_of(const leaf_column& leaf, const csv_options& options);

// Null if nothing is.
const char* what_is_wrong(quoting how);

class csv_record_reader final : public record_parser {
 public:
  // `columns`: what to do with each column of the text; null: skip it. The options must outlive the reader.
  csv_record_reader(const char* begin, const char* end, std::vector<const leaf_column*> columns, const csv_options& options,
                    bool keep_blank_lines)
      : at_(begin), end_(end), columns_(std::move(columns)), options_(options), keep_blank_lines_(keep_blank_lines),
        plain_(!options.trim), null_is_empty_(options.null_text.empty()),
        cursor_(begin, end, options.delimiter, options.quote) {}

  bool read(void* row) override;
  const record_error& error() const override { return error_; }
  std::string_view reject() override;

 private:
  bool convert(const leaf_column& leaf, std::string_view raw, void* row);
  bool good_quotes(std::string_view raw);
  // All false, for the caller to return; they fill error_.
  bool wrong_quotes(const csv_field& field);
  bool wrong_value(const leaf_column& leaf, std::string_view raw, std::string_view text, bool out_of_range);
  bool wrong_width(const char* record);

  const char *at_, *end_;
  const char *record_ = nullptr, *stop_ = nullptr;  // of a record that is wrong: its begin, and the last separator that was met
  const std::vector<const leaf_column*> columns_;
  const csv_options& options_;
  bool keep_blank_lines_, plain_, null_is_empty_;
  separator_cursor cursor_;
  std::string scratch_;
  record_error error_;
};

}  // namespace query::data
