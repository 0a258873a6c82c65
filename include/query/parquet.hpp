// Parquet files as sources and as sinks, by Arrow C++: link the target query::arrow (docs/parquet.md).
//
//   auto trades = query::read_parquet<Trade>("trades/");                 // files, patterns, folders: as read_csv takes them
//   auto large = trades.where([](auto t) { return t.price > 1000; });    // reads the columns and row groups that it needs
//   query::write_parquet(large, "large.parquet", {.row_group_rows = 1 << 17, .compression = query::file_compression::zstd});
//
// Not part of query/query.hpp: include it where such files are read or written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/arrow.hpp>
#include <query/chain.hpp>
#include <query/csv.hpp>
#include <query/file_paths.hpp>

namespace query {

// Arrow C++ may have been built without some of them: then a user_error says so.
enum class file_compression : std::uint8_t { none, snappy, gzip, brotli, zstd, lz4 };

struct parquet_options {
  std::vector<csv_column> columns = {};  // {"field", "column"}, where the names differ
  std::string file_name_in = {};         // the std::string field that takes the path of the row's file; it has no column
};

struct parquet_output {
  std::uint64_t row_group_rows = std::uint64_t{1} << 20;  // of a row group, at most
  file_compression compression = file_compression::snappy;
  std::optional<int> level = {};                          // of the compression; none: its usual one
  std::vector<std::string> partition_by = {};             // fields that name folders instead of columns: year=2026/region=north
};

namespace detail {

std::shared_ptr<const logical> parquet_source(const file_paths& files, const parquet_options& options, const ir::type* row, call_site at);
void write_parquet_file(const pipe& p, const settings& s, const std::string& path, const parquet_output& options, call_site at);

template <class Row> constexpr bool is_column_file_row() {
  static_assert(record<Row> || has_meta<Row>,
                "query: files of columns have records as rows. Write QUERY_RECORD(Row, field, ...); after the struct");
  if constexpr (record<Row>) {
    static_assert(ir::described_v<Row>, "query: files of columns: the record has a field whose type has no Arrow form");
    static_assert(std::is_default_constructible_v<Row>, "query: files of columns: the record needs a default constructor");
  }
  return record<Row> && ir::described_v<Row> && std::is_default_constructible_v<Row>;
}

}  // namespace detail

// The rows of a Parquet file, or of several as one. Columns are found by the names of the record's fields; their types are those of
// from_arrow (arrow.hpp). A field without a column takes its value from a folder of the path that is called field=value.
//
// Only columns that the query reads are read, and of row groups whose statistics show that no row passes the query's first where(), none.
// Throws user_error, when the query runs, with file, column, row group and fix.
template <class Row>
auto read_parquet(const file_paths& files, const parquet_options& options = {}, detail::call_site at = detail::call_site::here()) {
  if constexpr (!detail::is_column_file_row<Row>()) return check::after_error{};
  else return Query<Row>(detail::pipe{detail::parquet_source(files, options, ir::describe<Row>(), at), nullptr}, nullptr);
}

// Runs the query and writes its rows: to a temporary file beside the target, which takes its place at the end. If the path ends with '/',
// to a folder, as write_csv does; .partition_by makes folders in it for the values of fields, as read_parquet reads them.
template <verbs::query_like Q>
void write_parquet(const Q& q, const std::string& path, const parquet_output& options = {},
                   detail::call_site at = detail::call_site::here()) {
  if constexpr (detail::is_column_file_row<typename Q::row>())
    detail::write_parquet_file(q.to_pipe(), q.run_settings(), path, options, at);
}
inline void write_parquet(const check::after_error&, const std::string&, const parquet_output& = {}) {}

}  // namespace query
