// What the headers of query::arrow ask of this library. That it is linked makes the formats known to the process, also to one of a cluster
// whose main() reads no file itself.
#include <utility>

#include <query/arrow_file.hpp>
#include <query/detail/failure.hpp>
#include <query/parquet.hpp>

#include "arrow_files/ipc_file.hpp"
#include "arrow_files/parquet_file.hpp"
#include "runtime/file_nodes.hpp"

namespace query::arrow_files {
namespace {

using data::file_format;

std::unique_ptr<data::columnar_file> open(const std::string& path, file_format format) {
  return format == file_format::parquet ? open_parquet(path) : open_ipc(path);
}
std::unique_ptr<data::columnar_output> create(data::output_file& to, ArrowSchema& schema, file_format format,
                                              const data::columnar_options& options) {
  return format == file_format::parquet ? create_parquet(to, schema, options) : create_ipc(to, schema, options);
}
const bool known = (data::provide_columnar({open, create}), true);

std::shared_ptr<const detail::logical> source(const file_paths& files, file_format format, const parquet_options& options,
                                              const ir::type* row, detail::call_site at) {
  static_cast<void>(known);
  csv_options shared;
  shared.columns = options.columns;
  shared.file_name_in = options.file_name_in;
  return runtime::file_node(files, {.paths = {}, .format = format, .options = std::move(shared)}, row, at);
}
void write(const detail::pipe& p, const detail::settings& s, const std::string& path, file_format format,
           const data::columnar_options& options, detail::call_site at) {
  if (options.group_rows == 0)
    detail::fail(data::writing_verb(format), format == file_format::parquet ? "a row group has at least one row: .row_group_rows is 0"
                                                                            : "a record batch has at least one row: .batch_rows is 0", at);
  runtime::write_file(p, s, path, {format, {}, {}, {}, options}, at);
}

}  // namespace
}  // namespace query::arrow_files

namespace query::detail {

std::shared_ptr<const logical> parquet_source(const file_paths& files, const parquet_options& options, const ir::type* row, call_site at) {
  return arrow_files::source(files, data::file_format::parquet, options, row, at);
}
std::shared_ptr<const logical> arrow_file_source(const file_paths& files, const parquet_options& options, const ir::type* row,
                                                 call_site at) {
  return arrow_files::source(files, data::file_format::arrow, options, row, at);
}

void write_parquet_file(const pipe& p, const settings& s, const std::string& path, const parquet_output& options, call_site at) {
  arrow_files::write(p, s, path, data::file_format::parquet,
                     {options.row_group_rows, static_cast<std::uint8_t>(options.compression), options.level.value_or(0),
                      options.level.has_value(), options.partition_by}, at);
}
void write_arrow_ipc_file(const pipe& p, const settings& s, const std::string& path, const arrow_file_output& options, call_site at) {
  arrow_files::write(p, s, path, data::file_format::arrow,
                     {options.batch_rows, static_cast<std::uint8_t>(options.compression), 0, false, {}}, at);
}

}  // namespace query::detail
