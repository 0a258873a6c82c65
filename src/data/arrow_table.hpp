// The record batches that a producer of Arrow data gave, as the columns of a source.
//
// A column that lies as the engines read columns is read where it is: numbers without nulls, in a single batch. Each of the others is
// converted once, when the first run that reads it begins, and kept as long as the table. Until then the column is a run of zeros that no
// memory is behind: compiled loops may form references into columns whose values they do not use.
//
// Strings that come as codes of a dictionary need no conversion for readers that take codes: these find them by the address where the
// strings would lie.
//
//   table->prepare(wanted, reads::values, parallel);
//   table->view(rows);                       // rows.columns: a base for each field
//   table->prepare(wanted, reads::codes, parallel);
//   if (const text_codes* c = table->codes_of(field)) use(c->codes[table->row_at(field, rows.columns[field])]);
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
#include "data/text_codes.hpp"

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

  // What the source of from_arrow() reads; null: it is another source.
  static const arrow_table* of(const detail::logical& source) {
    const bool is_arrow = source.what == detail::verb::source_columns && source.options;
    return is_arrow ? static_cast<const arrow_table*>(source.options.get()) : nullptr;
  }

  void view(detail::row_block& to) const;
  // Makes what a reader of the columns that are wanted (empty: all) needs and is not there. codes: it takes codes where there are some, and
  // other values where they lie. Safe from several threads at once.
  enum class reads : std::uint8_t { values, codes };
  void prepare(const std::vector<bool>& wanted, reads how, arrow_parallel parallel) const;

  bool has_dictionary(std::size_t field) const;  // of strings: it may have codes
  // Once they have been prepared; null: the field has none.
  const text_codes* codes_of(std::size_t field) const { return codes_[field].load(std::memory_order_acquire); }
  bool has_values(std::size_t field) const { return values_[field].load(std::memory_order_acquire) != nullptr; }  // that were converted
  // The row whose value of such a field lies at `base`, an address of view() or behind it.
  std::size_t row_at(std::size_t field, const void* base) const;

 private:
  struct converted;
  struct coded;
  using bases = std::vector<const void*>;

  void check_batch(std::size_t b) const;
  void convert(std::size_t field, std::size_t from, std::size_t n, std::byte* to) const;
  void convert_values_of(const std::vector<std::size_t>& fields, arrow_parallel parallel) const;
  // Null: there are so many entries that strings are as good.
  std::unique_ptr<coded> take_codes(std::size_t field, arrow_parallel parallel) const;
  const ArrowArray& column_of(std::size_t field, std::size_t b) const {
    return *batches_[b]->children[columns_.columns[field]];
  }

  const ir::type* row_;
  arrow_values columns_;  // of the struct that a batch is
  std::vector<batch> batches_;
  std::vector<std::size_t> begins_{0};  // rows before each batch; one more: all
  void* zeros_ = nullptr;
  std::size_t zero_bytes_ = 0;

  mutable std::mutex lock_;
  mutable std::vector<bool> there_;                      // by field
  mutable std::vector<bool> looked_at_;                  // by field: its dictionary
  mutable std::vector<std::unique_ptr<coded>> coded_;
  mutable std::vector<std::atomic<const text_codes*>> codes_;         // by field
  mutable std::vector<std::atomic<const std::byte*>> values_;         // by field: those that were converted
  mutable std::vector<std::unique_ptr<converted>> kept_;
  mutable std::vector<std::unique_ptr<bases>> given_;    // runs may read any of them
  mutable std::atomic<const bases*> now_{nullptr};
  mutable std::atomic<bool> all_there_{false};
};

}  // namespace query::data
