// Reads a CSV file into an array of rows of a described type, in chunks that threads take on their own.
//
// A chunk is about `chunk_bytes` of text, cut at record boundaries, whatever the number of threads. index() finds the
// boundaries and counts the records; then each chunk knows its place in the result, and fields that nobody wants are skipped
// over. Quotes are RFC 4180's, so that the parity of the quotes before a byte tells whether it is quoted.
//
//   csv_file file("flights.csv", {}, ir::describe<Flight>());
//   file.index(parallel);                                  // calls parallel(n, task)
//   void* rows = allocate(file.rows() * sizeof(Flight));
//   file.read(parallel, {}, rows);                         // constructs the rows
//
// Readers that may stop early take it block by block instead, and no more of the file is looked at than they ask for:
//
//   file.limit_to(part);                                   // only the records that begin there
//   while (file.index_block(parallel, bytes)) { ...; n = file.read_until_wrong(parallel, {}, rows, wrong); ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <query/csv.hpp>
#include <query/detail/function_ref.hpp>
#include <query/detail/type.hpp>

#include "data/file_bytes.hpp"
#include "data/leaf_columns.hpp"

namespace query::data {

// Runs task(i) for each i in [0, n), in any order, in parallel or not.
using csv_parallel = function_ref<void(std::size_t n, function_ref<void(std::size_t)> task)>;
inline constexpr auto serially = [](std::size_t n, function_ref<void(std::size_t)> task) {
  for (std::size_t i = 0; i < n; ++i) task(i);
};

class csv_file {
 public:
  static constexpr std::size_t default_chunk_bytes = std::size_t{1} << 20;

  // Opens the file and matches its columns to the row's. Throws user_error if the file cannot be read, lacks a column, or
  // the row cannot come from a CSV file.
  csv_file(std::string path, csv_options options, const ir::type* row, std::size_t chunk_bytes = default_chunk_bytes);

  // Only the records of this part, from here on. Throws user_error if the file is another than the part is of.
  void limit_to(const file_part& part);
  // How many quotes there are within these bytes of the file.
  static std::uint64_t quotes_in(const std::string& path, char quote, std::uint64_t begin, std::uint64_t end, csv_parallel parallel);

  // Finds the records; once, before all that follows. Throws user_error if a quote is never closed.
  void index(csv_parallel parallel);
  // Or those of the next block, of at least one record: the last that end within `bytes` of text, or more where a record is longer.
  // What follows is then about this block. False at the end of the file. A quote that is never closed ends the block in front of
  // its record, and is the user_error of the next one. user_error too if the file was cut or written over since it was opened.
  bool index_block(csv_parallel parallel, std::size_t bytes);

  std::size_t chunks() const { return chunks_.size(); }
  std::size_t rows() const { return rows_; }
  std::size_t rows_in(std::size_t chunk) const { return chunks_[chunk].rows; }
  std::size_t first_row(std::size_t chunk) const { return chunks_[chunk].first_row; }  // its place in the result

  // Constructs the rows in raw memory for rows() of them, all chunks one after the other.
  // `wanted`: a flag a field of the row (a single one if the row is not a record), or empty for all; the other fields stay
  // value-initialised and are not looked at. If records are wrong, throws user_error for the first one in the file, whatever
  // the order of the tasks; nothing is constructed then. What `parallel` itself throws (cancelled) has the same effect.
  void read(csv_parallel parallel, std::span<const bool> wanted, void* rows) const;
  // The rows in front of the first wrong record, whose error is put into `wrong`; returns how many they are.
  std::size_t read_until_wrong(csv_parallel parallel, std::span<const bool> wanted, void* rows, std::exception_ptr& wrong) const;

 private:
  struct chunk_place {
    const char *begin, *end;
    std::size_t rows = 0, first_row = 0;
  };

  std::vector<std::string> wanted_columns() const;
  void match_header(const char* begin, const char* end);
  void match_positions(const char* first);
  std::vector<std::string> fields_of(const char* begin, const char* end) const;
  [[noreturn]] void report_open_quote() const;
  const char* skip_blank_lines(const char* p) const;
  std::vector<std::size_t> quotes_by_chunk(csv_parallel parallel, const char* begin, const char* end) const;
  void cut(csv_parallel parallel, const char* begin, const char* end, const std::vector<std::size_t>& quotes);
  std::size_t parse(std::size_t chunk, std::span<const bool> wanted, void* rows, std::exception_ptr& wrong) const;
  const char* text_end() const { return bytes_.text().data() + bytes_.text().size(); }
  const char* record_at(std::uint64_t byte, bool quoted) const;
  std::size_t rows_before_part() const;
  [[noreturn]] void fail(const char* at, const std::string& what) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  csv_options options_;
  const ir::type* row_;
  std::size_t chunk_bytes_;
  file_bytes bytes_;
  std::vector<leaf_column> leaves_;
  std::vector<const leaf_column*> columns_;  // by column of the file; null where the row has no use for it
  const char* data_ = nullptr;               // behind the header
  const char *begin_ = nullptr, *end_ = nullptr;  // of what is read of it
  const char* next_block_ = nullptr;
  bool keep_blank_lines_ = false;            // they are nulls of the file's only column
  std::vector<chunk_place> chunks_;
  std::size_t rows_ = 0, rows_before_ = 0;   // in the blocks before this one
};

}  // namespace query::data
