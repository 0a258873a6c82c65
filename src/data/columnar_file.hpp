// Files of columns, in groups of rows: Parquet, Arrow IPC. This library knows them by these interfaces; the optional target query::arrow
// (src/arrow_files) implements them with Arrow C++, whose data come and go by the structs of the C Data Interface.
//
//   const auto file = open_columnar("trades.parquet", file_format::parquet);
//   for (std::size_t g = 0; g < file->groups(); ++g) file->read(g, column, [&](ArrowArray& values) { ... });
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <query/arrow.hpp>
#include <query/detail/function_ref.hpp>

#include "data/file_source.hpp"
#include "data/row_tests.hpp"

namespace query::data {

class output_file;

// What the format's library says of a file, without a path.
struct columnar_failure : std::runtime_error {
  explicit columnar_failure(const std::string& what, bool damage = true) : std::runtime_error(what), is_damage(damage) {}
  bool is_damage;  // or the library cannot do it
};

// Its functions throw columnar_failure. read() is safe from several threads at once.
class columnar_file {
 public:
  virtual ~columnar_file() = default;
  virtual const ArrowSchema& schema() const = 0;  // of a struct: a child for each column
  virtual std::size_t groups() const = 0;
  virtual std::uint64_t rows_in(std::size_t group) const = 0;
  virtual std::uint64_t bytes_in(std::size_t group) const = 0;  // of the file
  virtual std::uint64_t bytes_of(std::size_t group, std::size_t column) const = 0;  // of its values when they are unpacked, about
  // By statistics; `path`: of a part of the column, names of structs' children.
  virtual value_range range_of(std::size_t group, std::size_t column, std::span<const std::string_view> path) const = 0;
  // The values of a column, in one array or several, which `take` may move from.
  virtual void read(std::size_t group, std::size_t column, function_ref<void(ArrowArray&)> take) = 0;
};

class columnar_output {
 public:
  virtual ~columnar_output() = default;
  virtual void write(ArrowArray& rows) = 0;  // a struct array, which is taken over
  virtual void end_group() {}                // if it keeps rows until they are a group, they go to the file
  virtual void finish() = 0;                 // all bytes are in the file then
};

// What reads and writes them in this program.
struct columnar_formats {
  std::unique_ptr<columnar_file> (*open)(const std::string& path, file_format format) = nullptr;
  std::unique_ptr<columnar_output> (*create)(output_file& to, ArrowSchema& schema, file_format format,
                                             const columnar_options& options) = nullptr;
};
void provide_columnar(const columnar_formats& formats);

// user_error, unplaced, with the path: the file is not there, is of another format, or was cut.
std::unique_ptr<columnar_file> open_columnar(const std::string& path, file_format format);
std::unique_ptr<columnar_output> create_columnar(output_file& to, ArrowSchema& schema, file_format format, const columnar_options& options);

// What readers have done in this process, for tests.
struct columnar_counts {
  std::atomic<std::uint64_t> groups_read = 0, groups_skipped = 0, columns_read = 0;  // columns: one for each group
};
columnar_counts& counts_of_columnar();

}  // namespace query::data
