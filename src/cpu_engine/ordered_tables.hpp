// Rows put apart by ranges of their keys, and their order as tables that are made when a reader comes to them: sorts beyond memory, and
// results that are found partition by partition and wanted in the order of the rows they come from (positioned_rows.hpp).
//
// A sample of the keys gives ranges (key_ranges.hpp). Rows, and keys that are not parts of them, go to a partition_store, which moves them
// to a temporary file where memory is full. A partition is read and sorted when a reader comes to it. Rows come to a partition in the order
// of parts, and a sort of it is stable: the result is that of one sort, wherever the ranges end.
//
//   ordered_tables::ranges& to = add_level(std::move(sample), partitions_for(rows), parts);
//   ordered_tables::writer w(*this, to, part); w.append(columns, n, owned); w.finish();      // on any threads, one writer a part
//   close(to);                                                                               // and now it has its tables
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "cpu_engine/key_ranges.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/partition_store.hpp"
#include "cpu_engine/stored_order.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Keys of some rows of a stream of batches.
class key_sample {
 public:
  key_sample(const stored_order& order, runtime::buffer_pool& pool);
  std::size_t size() const { return values_.front().size(); }
  // Rows first, first + step, ...
  void add(std::span<const column> columns, std::size_t n, std::size_t first = 0, std::size_t step = 1);
  std::vector<rows_buffer> take() && { return std::move(values_); }

 private:
  batch_keys keys_;
  std::vector<rows_buffer> values_;
};

class ordered_tables : public made_tables {
 public:
  // Of a run of quantiles that one partition has.
  static constexpr std::size_t samples_a_range = 16;

  const stored_order& order() const { return order_; }

  std::size_t partitions_for(std::uint64_t rows) const { return partitions_of(weight(rows, 0)); }
  // So many that their blocks have some hundred rows; what is too large then is split again.
  std::size_t most_partitions() const;

 protected:
  // For each row of a table while it is made: bytes of memory, and of the heap for what it owns, as far as anybody knows.
  struct row_bytes {
    std::size_t memory = 0, heap = 0;
  };
  // limit: of rows that are wanted. room: bytes of memory for everything. values: rows are numbers that are their own keys.
  ordered_tables(stored_order order, const planner::vertex& v, runtime::run_context& context, row_bytes of_partition, std::size_t room,
                 bool values);

  struct ranges {
    // Without keys: n ranges that rows are put in by whoever writes them.
    ranges(const stored_order& order, std::optional<key_ranges> r, std::size_t n, std::size_t parts, runtime::run_context& context);
    bool ties(std::size_t range) const { return keys && keys->ties(range); }
    std::optional<key_ranges> keys;
    std::size_t n;
    partition_store store;
  };
  // Puts batches into the partitions of one part.
  class writer {
   public:
    writer(const ordered_tables& of, ranges& to, std::size_t part)
        : to_(&to), writer_(to.store, part), keys_(of.order_, of.context_->pool) {}
    // At most column_batch_rows of them.
    void append(std::span<const column> columns, std::size_t n, bool owned) {
      to_->keys->find(keys_.of(columns, n), n, partitions_);
      writer_.append(columns, n, partitions_, owned);
    }
    void finish() { writer_.finish(); }

   private:
    ranges* to_;
    partition_writer writer_;
    batch_keys keys_;
    std::uint16_t partitions_[column_batch_rows];
  };

  ranges& add_level(std::vector<rows_buffer> sample, std::size_t wanted, std::size_t parts);
  ranges& add_level(std::size_t n, std::size_t parts);
  void close(ranges& r) { add_tables(r, 1); }  // all writers have finished
  runtime::run_context& context() const { return *context_; }
  const vertex_tasks& tasks() const { return tasks_; }

 private:
  struct table_of {
    partition_store* store;
    std::size_t partition, first_chunk, end_chunk;
    std::size_t rows;  // that are there; the last table may have more than are wanted
    bool ties;
  };

  // In rows that own nothing: how many need as much memory.
  std::uint64_t weight(std::uint64_t rows, std::uint64_t value_bytes) const {
    return rows + std::max(value_bytes, rows * of_partition_.heap) / of_partition_.memory;
  }
  std::size_t partitions_of(std::uint64_t weight) const {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(weight / rows_a_partition_ + 1, 2, most_partitions()));
  }
  std::size_t rows_a_chunk() const { return partition_store::rows_a_chunk(order_.row->size + order_.computed_bytes(), *context_); }
  void add_tables(ranges& of, std::size_t level);
  void add(table_of t);
  void add_tied(partition_store& store, std::size_t partition);
  void split(ranges& from, std::size_t partition, std::size_t rows, std::size_t weight, std::size_t level);

  std::size_t bytes_for(std::size_t t) const override;
  detail::table made(std::size_t t, runtime::scheduler& scheduler) const override;
  detail::table in_order(const table_of& t, runtime::scheduler& scheduler) const;
  void read_rows(const column_batch& b, rows_buffer& to) const;

  stored_order order_;
  runtime::run_context* context_;
  std::vector<detail::binding> bindings_;
  vertex_tasks tasks_;
  std::uint64_t limit_;
  row_bytes of_partition_;
  bool values_;
  std::size_t rows_a_partition_, most_of_partition_;  // that own nothing
  std::vector<std::unique_ptr<ranges>> levels_;
  std::vector<table_of> tables_;
};

}  // namespace query::cpu
