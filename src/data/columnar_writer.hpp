// Writes rows of a described type to a file of columns, some thousands at a time.
//
//   columnar_writer w("out.parquet", folder_sink{.format = file_format::parquet}, ir::describe<Trade>());
//   w.write(rows, n);
//   w.finish(false);        // without it, the target stays as it was
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <query/detail/type.hpp>

#include "data/columnar_file.hpp"
#include "data/output_file.hpp"
#include "data/row_writer.hpp"

namespace query::data {

class columnar_writer final : public row_writer {
 public:
  // `columns`: the row's type without the fields that are not written; null: all are.
  columnar_writer(const std::string& path, file_format format, const columnar_options& options, const ir::type* row,
                  const ir::type* columns = nullptr);
  ~columnar_writer() override;
  columnar_writer(const columnar_writer&) = delete;
  columnar_writer& operator=(const columnar_writer&) = delete;

  void write(const void* rows, std::size_t n) override;
  void finish(bool surely) override;
  std::uint64_t bytes() const override { return file_.bytes(); }

  // Rows of a row group that is not full, which the format may keep in memory, and how to have them written.
  std::uint64_t rows_kept() const { return rows_ % group_rows_; }
  void end_group();

 private:
  void flush();
  template <class F> void called(F f);

  const ir::type* row_;
  const ir::type* columns_;
  std::string place_;                        // verb and path, for errors
  output_file file_;
  std::unique_ptr<columnar_output> output_;  // before the file: it writes to it
  std::size_t most_;                         // rows that are kept
  std::byte* kept_ = nullptr;                // until they are a batch
  std::size_t n_ = 0;
  std::uint64_t group_rows_ = 1, rows_ = 0;  // rows_: since the last end_group()
};

}  // namespace query::data
