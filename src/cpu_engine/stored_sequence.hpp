// Rows in order, in memory while there is room and in a temporary file where there is none, which any number of readers read any number of
// times: results of group_by, and cached rows. They may outlive the run that made them.
//
//   auto rows = std::make_shared<stored_sequence>(row, columns, parts, context);
//   stored_sequence::writer w(*rows, part); w.append(batch.columns, batch.n, false); w.finish();   // on any threads, one writer a part
//   rows->finish(context);                                                                         // all writers have finished
//   return runtime::vertex_rows(rows);                                                             // made as they are read
#pragma once

#include <span>

#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/partition_store.hpp"

namespace query::cpu {

class stored_sequence final : public made_tables {
 public:
  // columns: of rows that come as columns; null: they are records. parts: about how many writers. Rows come back in the order of parts.
  // lives_on: what columns that are not transient lie in. row_heap: about what a row owns on the heap.
  stored_sequence(const ir::type* row, const planner::column_schema* columns, std::size_t parts, runtime::run_context& context,
                  std::vector<std::shared_ptr<const void>> lives_on = {}, std::size_t row_heap = 0);

  // Can rows of this type be kept so: are they copied when a reader comes to them?
  static bool can_keep(const ir::type* row) { return row->trivial || row->life.copy; }

  class writer final : public detail::batch_sink {
   public:
    writer(stored_sequence& to, std::size_t part) : row_(to.row()), writer_(to.store_, part) {}
    // Any number of rows. owned: what is transient may be moved from.
    void append(std::span<const column> columns, std::size_t n, bool owned);
    void push(const detail::row_block& b) override;  // records
    void finish() { writer_.finish(); }

   private:
    const ir::type* row_;
    partition_writer writer_;
    std::vector<column> some_;
  };

  void finish(const runtime::run_context& context);
  std::size_t row_heap() const { return row_heap_; }  // about, once it is finished

 private:
  struct table_of {
    std::size_t first_chunk, end_chunk, rows;
  };
  std::size_t bytes_for(std::size_t t) const override { return tables_[t].rows * (row()->size + row_heap_); }
  detail::table made(std::size_t t, runtime::scheduler& scheduler) const override;

  bool records_;
  planner::column_schema columns_;
  std::vector<std::shared_ptr<const void>> lives_on_;
  runtime::buffer_pool* pool_;
  std::size_t row_heap_;
  mutable partition_store store_;  // one partition
  std::vector<table_of> tables_;
};

}  // namespace query::cpu
