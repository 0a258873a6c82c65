// Writes rows of a described type as CSV, into a temporary file beside the target that takes its place at the end.
//
//   csv_writer writer("out.csv", {}, ir::describe<Flight>());
//   writer.write(rows, n);
//   writer.finish();          // without it, the target stays as it was
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <query/csv.hpp>
#include <query/detail/type.hpp>

#include "data/leaf_columns.hpp"
#include "data/packed_output.hpp"
#include "data/row_writer.hpp"

namespace query::data {

class csv_writer final : public row_writer {
 public:
  // Throws user_error if the row has fields that CSV cannot hold, or as packed_output does.
  csv_writer(std::string path, csv_options options, const ir::type* row);

  void write(const void* rows, std::size_t n) override;

  // write() in two steps: the first may run in parallel, the second takes the texts in order.
  void append_rows(std::string& text, const void* rows, std::size_t n) const;
  void write_text(std::string_view text);

  void finish(bool surely = false) override;
  std::uint64_t bytes() const override { return file_.bytes(); }

 private:
  static std::string checked(std::string path, const csv_options& options, const std::vector<leaf_column>& leaves, const ir::type* row);
  void append_value(std::string& text, const leaf_column& leaf, const void* row) const;
  void flush();

  csv_options options_;
  std::vector<leaf_column> leaves_;
  std::size_t row_size_;
  std::string buffer_;
  packed_output file_;
};

}  // namespace query::data
