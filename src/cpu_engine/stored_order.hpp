// How the rows of an order_by and their keys lie in the columns of a partition_store, and how they get there.
//
// Rows are records, one column, or columns as a pipeline gives them; keys that are no part of a column have columns of their own behind
// them, and are computed once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/order_keys.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

struct stored_order {
  stored_order(const planner::vertex& v, const planner::column_schema* columns);
  // Of rows of a vertex whose only key is a number in a column behind theirs: std::uint32_t if they are below 2^32, else std::uint64_t.
  static stored_order by_position(const planner::vertex& v, const planner::column_schema* columns, bool narrow,
                                  std::vector<column> places);
  // Of rows with a key that is what the vertex's function gives, computed into a column behind theirs.
  static stored_order by_key(const planner::vertex& v, const planner::column_schema* columns);
  stored_order(const detail::logical* node, const planner::column_schema* columns);  // of rows without keys

  struct key {
    std::size_t column = 0, within = 0;     // where it lies in the columns
    std::optional<std::size_t> in_row;      // and in the row, unless it has a column of its own
  };
  const detail::logical* node;
  const ir::type* row;
  bool records;                             // the rows are one column
  planner::column_schema columns;
  std::size_t of_row;                       // columns, the first ones
  std::vector<key> keys;
  std::vector<sort_key> shapes;             // types and directions of the keys
  std::vector<function_calls> computed;     // keys with columns of their own, in order; none of positions
  std::vector<std::size_t> computed_keys;   // their numbers
  // Columns of rows whose position says where their values lie: of all rows, with a base where that is so. No store has them.
  std::vector<column> places;

  planner::column_schema in_store() const;
  std::size_t computed_bytes() const;       // of the keys of a row

 private:
  void add_key_column(const ir::type* key);
};

// The keys of a batch as the sort takes them: where they lie, or gathered.
class batch_keys {
 public:
  batch_keys(const stored_order& order, runtime::buffer_pool& pool);
  std::span<const sort_key> of(std::span<const column> columns, std::size_t n);

 private:
  const stored_order* order_;
  runtime::buffer_pool* pool_;
  std::vector<sort_key> keys_;
  std::vector<rows_buffer> gathered_;
};

// Takes the rows of a part of a pipeline, computes keys, and hands batches of the store's columns on. They live as long as the call.
class order_feed : public detail::batch_sink, public column_sink {
 public:
  using receiver = function_ref<void(std::span<const column> columns, std::size_t n, bool owned)>;
  // resident: the rows stay where they are until the store has been read.
  order_feed(const stored_order& order, bool resident, runtime::buffer_pool& pool, receiver to);

  void run(const pipeline::part& part);
  void push(const detail::row_block& b) final;
  void push(const column_batch& b) final;

 private:
  void compute_keys(const void* rows, std::size_t n);

  const stored_order* order_;
  bool resident_;
  receiver to_;
  rows_buffer records_;  // of columns, for functions
  std::vector<rows_buffer> computed_;
  std::vector<interpreter::scratch> scratches_;
  std::vector<column> columns_;
};

}  // namespace query::cpu
