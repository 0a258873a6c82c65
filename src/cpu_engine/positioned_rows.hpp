// Rows that are found in any order, each with a position, and given back in the order of their positions: the results of operators that
// work partition by partition, where rows are wanted in the order of those that they come from.
//
// Rows with the same position stay in the order of parts, and within a part in that in which they came. They go to a temporary file where
// memory is full; a position that very many rows have is no problem.
//
//   auto rows = std::make_shared<positioned_rows>(vertex, tasks, &columns, end, expected, parts, room);
//   positioned_rows::writer w(*rows, part);                                 // on any threads, one writer a part
//   w.append(batch.columns, batch.n, positions, false); w.finish();
//   rows->finish(inputs);                                                   // all writers have finished
//   return runtime::vertex_rows(rows);                                      // made as they are read (made_tables.hpp)
#pragma once

#include "cpu_engine/ordered_tables.hpp"

namespace query::cpu {

class positioned_rows final : public ordered_tables {
 public:
  // columns: of the vertex's rows, as batches hold them; null: one column, of records. end: positions are below it. expected: about how
  // many rows will come, parts: about how many writers. room: bytes of memory that all of it may take. The first v.limit rows are given.
  // row_heap: about what a row owns on the heap. places: a column with a base has its values there, at their rows' positions, which are
  // below 2^32 then; writers hand on anything for it. Empty: none has.
  positioned_rows(const planner::vertex& v, const vertex_tasks& tasks, const planner::column_schema* columns, std::uint64_t end,
                  std::uint64_t expected, std::size_t parts, std::size_t room, std::size_t row_heap = 0,
                  std::vector<column> places = {});

  class writer {
   public:
    writer(positioned_rows& to, std::size_t part) : to_(&to), writer_(to.first_->store, part) {}

    // Row i has positions[i]. Columns that are not transient stay where they are until the rows are gone (finish): numbers of their rows
    // may be kept instead of values. owned: what is transient may be moved from. Any number of rows.
    void append(std::span<const column> columns, std::size_t n, const std::uint64_t* positions, bool owned);
    void finish() { writer_.finish(); }

   private:
    const positioned_rows* to_;
    partition_writer writer_;
    std::vector<column> some_;
    std::uint16_t ranges_[column_batch_rows];
    std::uint32_t narrow_[column_batch_rows];  // positions
  };

  // `lives_on`: what the columns were read from.
  void finish(std::shared_ptr<const void> lives_on = nullptr);

 private:
  // Ranges as long as each other.
  std::uint16_t range_of(std::uint64_t position) const { return static_cast<std::uint16_t>((position >> shift_) * factor_ >> 32); }

  bool narrow_;              // positions have 32 bits in the store
  unsigned shift_;           // positions less these bits have 32
  std::size_t ranges_;
  std::uint64_t factor_;     // 2^32 of them are all ranges
  ranges* first_;
  std::shared_ptr<const void> lives_on_;
};

}  // namespace query::cpu
