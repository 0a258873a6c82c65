#include "runtime/written_rows.hpp"

#include <algorithm>
#include <filesystem>

#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

#include "data/binary_writer.hpp"
#include "data/columnar_writer.hpp"
#include "data/csv_writer.hpp"
#include "data/json_writer.hpp"
#include "data/partitioned_writer.hpp"

namespace query::runtime {

std::unique_ptr<data::row_writer> writer_of(const data::folder_sink& how, const std::string& path, const ir::type* row,
                                            const local_engine& engine) {
  if (how.format == data::file_format::csv) return std::make_unique<data::csv_writer>(path, how.options, row);
  if (how.format == data::file_format::json_lines)
    return std::make_unique<data::json_writer>(path, data::json_options_of(how.options, unknown_fields::ignore), row);
  if (!how.columnar.partition_by.empty()) return std::make_unique<data::partitioned_writer>(path, how.format, how.columnar, row);
  if (data::is_columnar(how.format)) return std::make_unique<data::columnar_writer>(path, how.format, how.columnar, row);
  return std::make_unique<data::binary_writer>(path, row, [row, &engine](std::byte* rows, std::size_t n) {
    engine.clear_unused(*row, rows, n);
  });
}

std::vector<data::written_file> write_rows(const planner::machine_graph& g, const data::folder_sink& to, const std::string& name,
                                           local_engine& engine, run_context& context) {
  const auto placed = [&](auto&& f) {
    try {
      return f();
    } catch (const detail::unplaced_error& e) {
      throw user_error(std::string(e.what()) + " (" + to.place + ")");
    }
  };
  const ir::type* const row = g.result.row;
  auto writer = placed([&] {
    std::error_code none;
    if (!std::filesystem::is_directory(to.folder, none))
      throw detail::unplaced_error(std::string(data::writing_verb(to.format)) +
                                   ": a process does not see the folder that the others write: " + to.folder +
                                   "; all machines must see it, as on a network file system");
    return writer_of(to, to.folder + "/" + name, row, engine);
  });
  // A few rows at a time, with a look whether to stop before each: the source may be one block.
  const std::size_t a_look = std::clamp<std::size_t>((std::size_t{1} << 20) / row->size, 1, 1 << 14);
  const detail::stop_point stop;
  std::uint64_t rows = 0;
  engine.stream(g.result, g.captures, [](std::uint64_t) {}, [&](const detail::row_block& b) {
    for (std::size_t i = 0; i < b.n; i += a_look) {
      stop.check();
      context.cancel.check();
      placed([&] { writer->write(static_cast<const std::byte*>(b.rows) + i * row->size, std::min(a_look, b.n - i)); });
    }
    rows += b.n;
    return true;
  }, context);
  placed([&] { writer->finish(true); });
  return writer->files(name, rows);
}

}  // namespace query::runtime
