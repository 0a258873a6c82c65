// A CSV file: finds the columns of the row by their names, and reads those that are wanted (record_file.hpp).
//
//   csv_file file("flights.csv", {}, ir::describe<Flight>());
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <query/csv.hpp>
#include <query/detail/type.hpp>

#include "data/leaf_columns.hpp"
#include "data/record_file.hpp"

namespace query::data {

class csv_file final : public record_file {
 public:
  // Opens the file and matches its columns to the row's. Throws user_error if the file cannot be read, lacks a column, or
  // the row cannot come from a CSV file. `name`: what options.file_name_in takes; empty: the path.
  csv_file(std::string path, csv_options options, const ir::type* row,
           std::size_t chunk_bytes = default_chunk_bytes, std::string name = {});

 private:
  std::unique_ptr<record_parser> parser(const char* begin, const char* end, std::span<const bool> wanted) const override;
  void report_open_quote(const char* data) const override;
  std::vector<std::string> wanted_columns() const;
  void match_header(const char* begin, const char* end);
  void match_positions(const char* first, const char* end);
  std::vector<std::string> fields_of(const char* begin, const char* end) const;

  csv_options options_;
  std::vector<leaf_column> leaves_;
  std::vector<const leaf_column*> columns_;  // by column of the file; null where the row has no use for it
};

}  // namespace query::data
