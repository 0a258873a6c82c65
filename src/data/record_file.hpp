// Reads a text file of records into an array of rows of a described type, in chunks that threads take on their own: what CSV files and
// JSON lines have in common.
//
// A chunk is about `chunk_bytes` of text, cut at record boundaries, whatever the number of threads. Indexing finds the boundaries and
// counts the records; then each chunk knows its place in the result. Quotes are RFC 4180's, so that the parity of the quotes before a byte
// tells whether it is quoted.
//
//   csv_file file("flights.csv", {}, ir::describe<Flight>());
//   file.index(parallel);                                  // calls parallel(n, task)
//   void* rows = allocate(file.rows() * sizeof(Flight));
//   file.read(parallel, {}, rows);                         // constructs the rows
//
// Readers that may stop early take it block by block instead, and no more of the file is looked at than they ask for. So are files read
// that are compressed, of which a block is in memory, and files whose bad lines are left out:
//
//   file.limit_to(part);                                   // only the records that begin there
//   while (file.index_block(parallel, bytes)) { ...; n = file.read_until_wrong(parallel, {}, rows, wrong); ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <query/bad_lines.hpp>
#include <query/detail/function_ref.hpp>
#include <query/detail/type.hpp>

#include "data/file_bytes.hpp"
#include "data/packed_bytes.hpp"
#include "data/record_parser.hpp"
#include "data/rejected_list.hpp"

namespace query::data {

// Runs task(i) for each i in [0, n), in any order, in parallel or not.
using csv_parallel = function_ref<void(std::size_t n, function_ref<void(std::size_t)> task)>;
inline constexpr auto serially = [](std::size_t n, function_ref<void(std::size_t)> task) {
  for (std::size_t i = 0; i < n; ++i) task(i);
};

class record_file {
 public:
  static constexpr std::size_t default_chunk_bytes = std::size_t{1} << 20;
  static constexpr std::size_t longest_packed_record = std::size_t{256} << 20;

  virtual ~record_file() = default;
  record_file(const record_file&) = delete;
  record_file& operator=(const record_file&) = delete;

  // Only the records of this part, from here on. Throws user_error if the file is another than the part is of.
  void limit_to(const file_part& part);
  // How many quotes there are within these bytes of the file.
  static std::uint64_t quotes_in(const std::string& path, char quote, std::uint64_t begin, std::uint64_t end, csv_parallel parallel);

  bool is_packed() const { return unpacking_ != nullptr; }
  // Finds the records; once, before all that follows. Throws user_error if a quote is never closed. Not of a file that is_packed().
  void index(csv_parallel parallel);
  // Or those of the next block, of at least one record: the last that end within `bytes` of text, or more where a record is longer.
  // What follows is then about this block. False at the end of the file. A quote that is never closed ends the block in front of
  // its record, and is the user_error of the next one, or the last record in `rejected`. user_error too if the file was cut or written over
  // since it was opened.
  bool index_block(csv_parallel parallel, std::size_t bytes, rejections* rejected = nullptr);

  std::size_t chunks() const { return chunks_.size(); }
  std::size_t rows() const { return rows_; }
  std::size_t rows_in(std::size_t chunk) const { return chunks_[chunk].rows; }
  std::size_t first_row(std::size_t chunk) const { return chunks_[chunk].first_row; }  // its place in the result

  // Constructs the rows in raw memory for rows() of them, all chunks one after the other.
  // `wanted`: a flag a field of the row (a single one if the row is not a record), or empty for all; the other fields stay
  // value-initialised and are not looked at. If records are wrong, throws user_error for the first one in the file, whatever
  // the order of the tasks; nothing is constructed then. What `parallel` itself throws (cancelled) has the same effect.
  void read(csv_parallel parallel, std::span<const bool> wanted, void* rows);
  // The rows in front of the first wrong record, whose error is put into `wrong`; returns how many they are. With `rejected`, all rows that
  // are right: the others go there.
  std::size_t read_until_wrong(csv_parallel parallel, std::span<const bool> wanted, void* rows, std::exception_ptr& wrong,
                               rejections* rejected = nullptr);

 protected:
  // Opens the file. `file_name_in`: the field of the row that takes `name`, empty for none.
  record_file(std::string path, std::string name, std::string_view verb, char quote, const ir::type* row, const std::string& file_name_in,
              std::size_t chunk_bytes);

  // The records of [begin, end), as read() calls for them.
  virtual std::unique_ptr<record_parser> parser(const char* begin, const char* end, std::span<const bool> wanted) const = 0;

  // The number of quotes from `data` on is odd: throws user_error for the one to blame.
  virtual void report_open_quote(const char* data) const;

  // For constructors: the first record that is no blank line as it begins in memory; `end` is behind its line end.
  const char* first_record(const char*& end);
  void records_begin_at(const char* data, bool keep_blank_lines);
  bool is_file_name(std::size_t top_field) const { return file_field_ != nullptr && &row_->fields()[top_field] == file_field_; }
  const char* first_byte() const;            // in constructors: behind a byte order mark
  const char* text_end() const { return text_.data() + text_.size(); }
  [[noreturn]] void fail(const char* at, const std::string& what) const;
  [[noreturn]] void fail(const std::string& what) const;

  const ir::type* row_;
  bool names_first_line_ = false;            // a line that is no row: the columns' names
  bool keep_blank_lines_ = false;            // they are nulls of the file's only column

 private:
  struct chunk_place {
    const char *begin, *end;
    std::size_t rows = 0, first_row = 0;
  };
  struct chunk_rows {
    std::size_t n = 0;                       // constructed, side by side
    std::exception_ptr wrong = nullptr;
    std::uint64_t rejected = 0;
    struct line {
      const char* begin;
      rejected_line text;
    };
    std::vector<line> lines = {};            // of the first ones
  };

  void fill(std::size_t bytes);
  void parse(std::size_t chunk, std::span<const bool> wanted, void* rows, std::size_t room, bool rejects, chunk_rows& done) const;
  void close_gaps(void* rows, std::span<const chunk_rows> done) const;
  void reject(rejections& to, std::vector<chunk_rows>& done);
  std::vector<std::size_t> quotes_by_chunk(csv_parallel parallel, const char* begin, const char* end) const;
  void cut(csv_parallel parallel, const char* begin, const char* end, const std::vector<std::size_t>& quotes);
  void reject_open_quote(rejections& to);
  const char* skip_blank_lines(const char* p) const;
  const char* record_at(std::uint64_t byte, bool quoted) const;
  std::size_t rows_before_part() const;
  std::string place_of(const char* at) const;
  std::uint64_t line_of(const char* at);

  std::string path_, name_;
  std::string_view verb_;
  char quote_;                               // '\0': none
  const ir::field* file_field_ = nullptr;    // takes name_
  std::size_t chunk_bytes_;
  file_bytes bytes_;
  std::unique_ptr<unpacking> unpacking_;     // null: the bytes are the text
  std::string unpacked_;                     // of a packed file, what is in memory of its text
  bool ended_ = true;                        // text_ goes to the end of the file
  std::string_view text_;
  std::uint64_t lines_before_ = 0;           // in front of text_
  const char* data_ = nullptr;               // behind the header, or where text_ begins
  const char *begin_ = nullptr, *end_ = nullptr;  // of what is read of it
  const char* next_block_ = nullptr;
  std::vector<chunk_place> chunks_;
  std::size_t rows_ = 0, rows_before_ = 0;   // in the blocks before this one
  const char* counted_to_ = nullptr;         // line_of() has counted this far
  std::uint64_t counted_lines_ = 0;
};

}  // namespace query::data
