// What a plan knows of the files that rows come from, and of those that they go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <query/csv.hpp>
#include <query/json_lines.hpp>

#include "data/row_tests.hpp"

namespace query::data {

enum class file_format : std::uint8_t { csv, json_lines, binary, parquet, arrow };
constexpr std::string_view reading_verb(file_format f) {
  constexpr std::string_view verbs[] = {"read_csv", "read_json_lines", "read_binary", "read_parquet", "read_arrow_file"};
  return verbs[static_cast<std::size_t>(f)];
}
constexpr std::string_view writing_verb(file_format f) {
  constexpr std::string_view verbs[] = {"write_csv", "write_json_lines", "write_binary", "write_parquet", "write_arrow_file"};
  return verbs[static_cast<std::size_t>(f)];
}
constexpr std::string_view extension_of(file_format f) {
  constexpr std::string_view extensions[] = {".csv", ".jsonl", ".bin", ".parquet", ".arrow"};
  return extensions[static_cast<std::size_t>(f)];
}
constexpr bool is_text(file_format f) { return f == file_format::csv || f == file_format::json_lines; }
// Groups of rows, whose columns lie apart (columnar_file.hpp).
constexpr bool is_columnar(file_format f) { return f == file_format::parquet || f == file_format::arrow; }

// How such files are written.
struct columnar_options {
  std::uint64_t group_rows = 0;  // at most
  std::uint8_t compression = 0;  // query::file_compression
  std::int32_t level = 0;        // of the compression
  bool has_level = false;        // else as its library chooses
  std::vector<std::string> partition_by{};  // fields that name the folders: year=2026/month=7
};

// Those of JSON lines that CSV has too are part of csv_options.
inline json_options json_options_of(const csv_options& o, unknown_fields unknown) {
  return {o.columns, unknown, o.file_name_in, o.on_error, o.rejected};
}
inline csv_options shared_options_of(const json_options& o) {
  return {.columns = o.columns, .file_name_in = o.file_name_in, .on_error = o.on_error, .rejected = o.rejected};
}

struct file_source {
  std::vector<std::string> paths;  // patterns and folders among them (file_list.hpp)
  file_format format = file_format::csv;
  csv_options options{};           // nothing for binary files
  unknown_fields unknown = unknown_fields::ignore;  // of JSON lines
  row_tests wanted_rows{};         // of columnar files: what rows pass that anyone reads, as far as statistics can tell
  std::string folder{};            // that relative paths are relative to, in a process that works in another one; empty: its own
};

// A file as one process finds it, or all files of a source.
struct file_state {
  bool there = false;            // regular files that can be read
  bool whole = false;            // one reader takes all: they are compressed, or the caller's process notes their bad lines
  std::uint64_t bytes = 0;       // of all
  std::int64_t changed_at = 0;   // nanoseconds; of several a hash of their names, sizes and times
  bool operator==(const file_state&) const = default;
};

// The part that a partition reads: records that begin within these bytes. Whether a byte is quoted depends on all of its file before it.
struct file_part {
  std::uint64_t begin = 0, end = 0;
  bool begin_is_quoted = false, end_is_quoted = false;
  file_state of;                 // as it has to be
};

// Within some bytes: the quotes since the last of the files that begin there, else since the first byte.
struct quotes_seen {
  std::uint64_t n = 0;
  std::uint64_t file_begins = 0;   // one does
  std::uint64_t until_begin = 0;   // the quotes before the first one that does
  std::uint64_t is_odd = 0;        // a file that is there as a whole has a quote that is never closed

  void file_begins_here() {
    if (file_begins) is_odd |= n % 2;
    else until_begin = n;
    file_begins = 1;
    n = 0;
  }
};

// A folder that rows are written to, a file for each partition.
struct folder_sink {
  file_format format = file_format::csv;
  csv_options options{};
  std::string folder;            // where they are written at first, known to all processes by this path
  std::string place;             // of the verb, for errors
  columnar_options columnar{};   // of columnar files
};
struct written_file {
  std::string name;              // within the folder where they are written at first
  std::uint64_t bytes = 0, rows = 0;
  std::string folder{};          // that it belongs to, below the target: year=2026/month=7
};

}  // namespace query::data
