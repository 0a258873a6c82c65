// Arrow IPC files (".arrow", Feather version 2) as sources and as sinks, by Arrow C++: link the target query::arrow (docs/parquet.md).
//
//   auto trades = query::read_arrow_file<Trade>("trades.arrow");
//   query::write_arrow_file(trades.where(p), "some.arrow", {.compression = query::file_compression::zstd});
//
// Not part of query/query.hpp: include it where such files are read or written.
#pragma once

#include <cstdint>
#include <string>

#include <query/parquet.hpp>

namespace query {

struct arrow_file_output {
  std::uint64_t batch_rows = std::uint64_t{1} << 16;           // of a record batch, at most
  file_compression compression = file_compression::none;      // or lz4, zstd
};

namespace detail {
std::shared_ptr<const logical> arrow_file_source(const file_paths& files, const parquet_options& options, const ir::type* row,
                                                 call_site at);
void write_arrow_ipc_file(const pipe& p, const settings& s, const std::string& path, const arrow_file_output& options, call_site at);
}  // namespace detail

// As read_parquet; such files have no statistics, so that all record batches are read, though only the columns that the query reads.
template <class Row>
auto read_arrow_file(const file_paths& files, const parquet_options& options = {}, detail::call_site at = detail::call_site::here()) {
  if constexpr (!detail::is_column_file_row<Row>()) return check::after_error{};
  else return Query<Row>(detail::pipe{detail::arrow_file_source(files, options, ir::describe<Row>(), at), nullptr}, nullptr);
}
template <verbs::query_like Q>
void write_arrow_file(const Q& q, const std::string& path, const arrow_file_output& options = {},
                      detail::call_site at = detail::call_site::here()) {
  if constexpr (detail::is_column_file_row<typename Q::row>())
    detail::write_arrow_ipc_file(q.to_pipe(), q.run_settings(), path, options, at);
}
inline void write_arrow_file(const check::after_error&, const std::string&, const arrow_file_output& = {}) {}

}  // namespace query
