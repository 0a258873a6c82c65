// Files as sources and as sinks: the nodes of read_csv and its like, and what write_csv and its like run.
#include "runtime/file_nodes.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <query/csv.hpp>
#include <query/detail/execute.hpp>
#include <query/detail/failure.hpp>

#include "data/csv_record_reader.hpp"
#include "data/file_source.hpp"
#include "data/json_writer.hpp"
#include "data/output_folder.hpp"
#include "data/partitioned_writer.hpp"
#include "runtime/execution.hpp"
#include "runtime/stream_rows.hpp"
#include "runtime/written_rows.hpp"

namespace query::runtime {

namespace {

using data::file_format;
using detail::call_site;
using detail::pipe;
using detail::settings;

// The writer's own errors; those of the query are placed by now.
template <class F> decltype(auto) placed(call_site where, F f) {
  try {
    return f();
  } catch (const detail::unplaced_error& e) {
    detail::fail_at(e, where);
  }
}

void write_one(const pipe& p, const settings& s, const std::string& path, const data::folder_sink& how, call_site where) {
  const auto session = session_of(s);
  const auto writer = placed(where, [&] { return writer_of(how, path, p.node->row, *session->cpu); });
  detail::stream_rows(p, s, nullptr, [](std::uint64_t) {}, [&](const detail::row_block& b) {
    placed(where, [&] { writer->write(b.rows, b.n); });
    return true;
  }, data::writing_verb(how.format).data(), where);
  placed(where, [&] { writer->finish(false); });
}

void write_folder(const pipe& p, const settings& s, const std::string& path, data::folder_sink sink, call_site where) {
  const auto folder = placed(where, [&] {
    if (sink.format == file_format::csv) {
      data::check_options(sink.options, "write_csv");
      data::check_csv_row(p.node->row, data::leaf_columns(p.node->row), sink.options, "write_csv");
    } else if (sink.format == file_format::json_lines) {
      (void)data::checked_json_shape(p.node->row, data::json_options_of(sink.options, unknown_fields::ignore));
    }
    data::check_partition_by(p.node->row, sink.columnar.partition_by, data::writing_verb(sink.format));
    return std::make_unique<data::output_folder>(path, sink.format);
  });
  sink.folder = folder->staging();
  sink.place = detail::place_of(where);
  execution e(p, s, "rows", planner::reading::written, {}, data::writing_verb(sink.format).data(), where);
  int times = 0;
  const std::vector<std::vector<data::written_file>> files = e.read([&] {
    if (e.partitions) return e.partitions->write(sink);
    std::vector<std::vector<data::written_file>> written;
    written.push_back(write_rows(*e.graph, sink, "alone-" + std::to_string(++times), *e.session->cpu, e.context));
    return written;
  });
  placed(where, [&] { folder->commit(files); });
  std::uint64_t rows = 0;
  for (const auto& of_partition : files)
    for (const data::written_file& f : of_partition) rows += f.rows;
  e.gave(rows);
  e.finished();
  note_selectivity(e.graph->result, rows, e.context);
}

}  // namespace

void write_file(const pipe& p, const settings& s, const std::string& path, data::folder_sink how, call_site where) {
  if (data::output_folder::names(path)) write_folder(p, s, path, std::move(how), where);
  else if (how.columnar.partition_by.empty()) write_one(p, s, path, how, where);
  else detail::fail(data::writing_verb(how.format), ".partition_by writes a folder: end the path with '/': " + path, where);
}

std::shared_ptr<const detail::logical> file_node(const file_paths& files, data::file_source source, const ir::type* row, call_site where) {
  auto n = std::make_shared<detail::logical>();
  n->what = detail::verb::source_file;
  const std::vector<std::string>& all = files.all();
  std::string first = all.empty() ? "" : all.front();
  if (const std::size_t slash = first.find_last_not_of('/'); slash != std::string::npos)
    first.erase(0, first.rfind('/', slash) + 1);
  const std::string more = all.size() > 1 ? ", and " + std::to_string(all.size() - 1) + " more" : "";
  n->label = std::string(data::reading_verb(source.format)) + "(\"" + first + "\"" + more + ")";
  n->row = row;
  n->where = where;
  source.paths = all;
  n->options = std::make_shared<const data::file_source>(std::move(source));
  return n;
}

}  // namespace query::runtime

namespace query::detail {

using data::file_format;
using runtime::file_node;

void write_csv_file(const pipe& p, const settings& s, const std::string& path, const void* options, call_site where) {
  runtime::write_file(p, s, path, {file_format::csv, *static_cast<const csv_options*>(options), {}, {}}, where);
}
void write_json_file(const pipe& p, const settings& s, const std::string& path, const json_options& options, call_site where) {
  runtime::write_file(p, s, path, {file_format::json_lines, data::shared_options_of(options), {}, {}}, where);
}
void write_binary_file(const pipe& p, const settings& s, const std::string& path, call_site where) {
  runtime::write_file(p, s, path, {file_format::binary, {}, {}, {}}, where);
}

std::shared_ptr<const logical> csv_source(const file_paths& files, const void* options, const ir::type* row, call_site where) {
  return file_node(files, {.paths = {}, .format = file_format::csv, .options = *static_cast<const csv_options*>(options)}, row, where);
}
std::shared_ptr<const logical> json_source(const file_paths& files, const json_options& options, const ir::type* row, call_site where) {
  return file_node(files, {.paths = {}, .format = file_format::json_lines, .options = data::shared_options_of(options),
                           .unknown = options.unknown}, row, where);
}
std::shared_ptr<const logical> binary_source(const file_paths& files, const ir::type* row, call_site where) {
  return file_node(files, {.paths = {}, .format = file_format::binary}, row, where);
}

}  // namespace query::detail
