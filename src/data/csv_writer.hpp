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

namespace query::data {

class csv_writer {
 public:
  // Throws user_error if the row has fields that CSV cannot hold, or the target is a directory or may not be written. A
  // target that exists and is no regular file (a pipe, a terminal) is written to directly.
  csv_writer(std::string path, csv_options options, const ir::type* row);
  ~csv_writer();  // removes the temporary file if finish() has not been reached
  csv_writer(const csv_writer&) = delete;
  csv_writer& operator=(const csv_writer&) = delete;

  void write(const void* rows, std::size_t n);

  // write() in two steps: the first may run in parallel, the second takes the texts in order.
  void append_rows(std::string& text, const void* rows, std::size_t n) const;
  void write_text(std::string_view text);

  // Closes the file and puts it in its place. This and the writes throw resource_error with the path if the disk is full,
  // user_error if something else is in the way; the target then is as it was.
  void finish();

 private:
  void append_value(std::string& text, const leaf_column& leaf, const void* row) const;
  void flush();
  void write_all(std::string_view text);
  void discard() noexcept;
  [[noreturn]] void fail(const char* what, int error);

  std::string path_, target_;  // as given, and with links followed
  std::string temporary_;       // empty when the target is written directly
  csv_options options_;
  std::vector<leaf_column> leaves_;
  std::size_t row_size_;
  std::string buffer_;
  int file_ = -1;
};

}  // namespace query::data
