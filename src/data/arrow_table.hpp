// The record batches that a producer of Arrow data gave, as the columns of a source.
//
// A column that lies as the engines read columns is read where it is: numbers without nulls, in a single batch. Each of the others is
// converted once, when the first run that reads it begins, and kept as long as the table. Until then the column is a run of zeros that no
// memory is behind: compiled loops may form references into columns whose values they do not use.
//
//   table->prepare(wanted, parallel);
//   table->view(rows);                       // rows.columns: a base for each field
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <query/arrow.hpp>
#include <query/detail/function_ref.hpp>

#include "data/arrow_types.hpp"

namespace query::data {

// Runs task(i) for each i in [0, n), in any order, in parallel or not.
using arrow_parallel = function_ref<void(std::size_t n, function_ref<void(std::size_t)> task)>;

class arrow_table {
 public:
  // A batch, and the schema of a struct: moved from their producer, who releases them at the end.
  using batch = std::unique_ptr<ArrowArray, void (*)(ArrowArray*)>;
  static batch take(ArrowArray& from);

  // Throws arrow_mismatch where batches do not fit the row.
  arrow_table(const ir::type* row, const ArrowSchema& schema, std::vector<batch> batches);
  arrow_table(const arrow_table&) = delete;
  arrow_table& operator=(const arrow_table&) = delete;
  ~arrow_table();

  void view(detail::row_block& to) const;
  // Converts the columns that are wanted (empty: all) and have not been. Safe from several threads at once.
  void prepare(const std::vector<bool>& wanted, arrow_parallel parallel) const;

 private:
  struct converted;
  using bases = std::vector<const void*>;

  void check_batch(std::size_t b) const;
  void convert(std::size_t field, std::size_t from, std::size_t n, std::byte* to) const;

  const ir::type* row_;
  arrow_values columns_;  // of the struct that a batch is
  std::vector<batch> batches_;
  std::vector<std::size_t> begins_{0};  // rows before each batch; one more: all
  void* zeros_ = nullptr;
  std::size_t zero_bytes_ = 0;

  mutable std::mutex lock_;
  mutable std::vector<bool> there_;                      // by field
  mutable std::vector<std::unique_ptr<converted>> kept_;
  mutable std::vector<std::unique_ptr<bases>> given_;    // runs may read any of them
  mutable std::atomic<const bases*> now_{nullptr};
  mutable std::atomic<bool> all_there_{false};
};

}  // namespace query::data
