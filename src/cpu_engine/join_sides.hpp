// The sides of a join whose rows have no room in memory: how they lie in partition stores, and how those of a partition are read again.
//
// Rows lie as columns where the join runs over columns and they stay where they are, so that strings are kept by number; or as their
// numbers in a source, if that has all of their columns; else as records. Keys lie beside records and numbers, unless they are a part of
// the record or own memory.
//
//   parted_side side(form, equality, bits, numbered, parts, context); side.take(input, tasks);
//   build_block block(form, equality, numbered, context); block.read(side.store(), partition, first, n);
//   block.table().probe(...); use(block.row(i)) or use(block.select(rows, k));
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/join_partitions.hpp"
#include "cpu_engine/join_table.hpp"
#include "cpu_engine/partition_store.hpp"

namespace query::cpu {

struct side_form {
  // from: the columns of the rows; null: they are records.
  // in_place: all rows of the source; empty: columns lie in the store.
  side_form(const detail::user_function& f, bool interpreted, const planner::column_schema* from, std::vector<column> in_place = {});

  const ir::type *row, *key;
  bool records;
  planner::column_schema columns;      // in the store
  std::optional<function_calls> calls; // records: the key
  std::optional<std::size_t> key_at;   // records: where in the row the key lies, if it does
  std::optional<column_values> values; // columns: the key
  std::vector<column> in_place;        // of all rows, where the store has numbers of rows, in its first column

  bool numbers() const { return !in_place.empty(); }
  bool numbers_and_keys() const { return numbers() && columns.columns.size() > 1; }
  static const std::uint32_t* numbers_of(const column_batch& b) { return static_cast<const std::uint32_t*>(b.columns[0].base); }
  // Rows of the source by number.
  void select(const std::uint32_t* rows, std::vector<column>& to) const;

  std::size_t stored_bytes() const;    // of a row, at most
};

// The keys of a batch of rows out of a store, side by side.
class side_keys {
 public:
  side_keys(const side_form& form, runtime::buffer_pool& pool) : form_(&form), memory_(form.key, pool) {}
  const void* of(const column_batch& b);

 private:
  const side_form* form_;
  rows_buffer memory_;
  interpreter::scratch scratch_;
  std::vector<column> columns_;
};

// One side, put apart by the hash of its keys.
class parted_side {
 public:
  parted_side(const side_form& form, key_equality equality, unsigned bits, bool numbered, std::size_t parts, runtime::run_context& context)
      : form_(&form), equality_(equality), bits_(bits), pool_(&context.pool), store_(form.columns, bits, parts, numbered, context) {}

  void take(join_input& in, const vertex_tasks& tasks);
  partition_store& store() { return store_; }

 private:
  class sink;

  const side_form* form_;
  key_equality equality_;
  unsigned bits_;
  runtime::buffer_pool* pool_;
  partition_store store_;
};

// Some rows of a partition of the build side under a hash table.
class build_block {
 public:
  // presence: columns end with one that says whether a row is there, as rows of the other side may have no partner here.
  build_block(const side_form& form, const key_equality& equality, bool numbered, bool presence, runtime::run_context& context);

  // Rows from number `first` of the partition on, at most n of them.
  void read(partition_store& store, std::size_t partition, std::uint64_t first, std::uint64_t n);
  std::size_t size() const { return n_; }
  join_table& table() { return *table_; }
  std::uint64_t position(std::size_t i) const { return positions_.as<std::uint64_t>()[i]; }

  // Of records; null: join_table::no_row.
  const void* row(std::uint64_t i) const {
    if (i == join_table::no_row) return nullptr;
    return form_->row->trivial ? rows_.at(static_cast<std::size_t>(i)) : at_.as<const void*>()[i];
  }
  // Of columns: at most a batch of rows by number. They live until the next call.
  std::span<const column> select(const std::uint64_t* rows, std::size_t n);
  std::span<const column> select_missing(std::size_t n);  // n rows that are not there

  // For each row, at most.
  static std::size_t row_bytes(const side_form& form, bool numbered);

 private:
  // A column: its values, or the numbers of those that stay where they are.
  struct held {
    rows_buffer values;
    bool by_number;
    runtime::buffer numbers;
    const std::byte* base = nullptr;
    std::size_t stride = 0;
    std::vector<std::uint32_t> selected;
  };
  void add(const stored_rows& r, std::size_t from, std::size_t k);
  bool keep_columns(std::span<const column> columns, std::size_t k);
  bool rebase(held& h, const column& c, std::size_t k) const;

  const side_form* form_;
  key_equality equality_;
  bool numbered_, presence_;
  runtime::run_context* context_;
  runtime::serial_scheduler alone_;
  side_keys keys_of_;
  rows_buffer rows_, keys_;
  runtime::buffer at_, positions_;
  std::vector<held> held_;
  std::vector<column> columns_;  // select()'s
  std::vector<std::uint32_t> none_;
  std::size_t n_ = 0;
  bool full_ = false;  // the next rows lie too far from those that are here
  std::optional<join_table> table_;
};

}  // namespace query::cpu
