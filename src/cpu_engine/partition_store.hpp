// Rows that come as columns, put apart by partition and kept until their partition is read: in the session's memory while there is room,
// else in a temporary file.
//
// A writer gathers a chunk of rows and lays it out partition by partition. Narrow values are copied; of wide values that stay where they
// are (sources, tables) the numbers of their rows are kept. Other values that own memory are kept as objects while an eighth of the memory
// is in use, then as bytes (value_bytes.hpp), each row's behind those of the row before it, unless their type has none. A page holds
// what one chunk has of a few adjacent partitions. Pages of the partitions that are read last go to the file first; objects stay in memory.
// Readers get the same rows wherever these lay: in the order of parts, and within a part as they were appended. Partitioning before
// aggregation, pages that are evicted: Kuiper, Boncz, Mühleisen, Robust External Hash Aggregation in the Solid State Age, ICDE 2024.
//
//   partition_store store(schema, bits, parts, numbered, context);
//   partition_writer w(store, part); w.append(columns, n, partitions, owned); w.finish();      // on any threads, one writer a part
//   store.read(p, [&](const stored_rows& r) { ... }); store.release(p);                        // on any threads, once a partition
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <query/detail/function_ref.hpp>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "runtime/run_context.hpp"
#include "runtime/temp_file.hpp"

namespace query::cpu {

struct stored_rows {
  column_batch rows;                         // at most column_batch_rows of them; columns that nobody reads are empty
  const std::uint32_t* positions = nullptr;  // with `first`, where each row stood among all: first + positions[i]; null: not asked for
  std::uint64_t first = 0;
  std::size_t part = 0;                      // whose writer appended them
};

class partition_store final : runtime::pool_evictor {
 public:
  static constexpr std::size_t line = 64;  // blocks and their fields begin at multiples of it
  // columns: what batches hold; null types: columns that nobody reads. bits: of the number of partitions, at most 16. parts: how many, or
  // fewer, where nobody knows. The run may end before the store does.
  partition_store(planner::column_schema columns, unsigned bits, std::size_t parts, bool numbered, runtime::run_context& context);
  partition_store(const partition_store&) = delete;
  partition_store& operator=(const partition_store&) = delete;
  ~partition_store() override;

  // Of so many bytes, that writers lay out at once.
  static std::size_t rows_a_chunk(std::size_t row_bytes, const runtime::run_context& context);
  // How many writers there may be at once, so that memory has room for chunks whose blocks are worth their overhead; by default as many as
  // threads. Before the first one.
  std::size_t limit_writers();
  std::size_t partitions() const { return std::size_t{1} << bits_; }
  std::uint64_t rows_of(std::size_t partition) const;
  // After the last writer: numbers rows from 0 on, in the order of parts, and returns how many there are.
  // before, if not null: how many there are before each part.
  std::uint64_t number_rows(std::vector<std::uint64_t>* before = nullptr);
  void read(std::size_t partition, function_ref<void(const stored_rows&)> f) { read(partition, 0, ~std::size_t{0}, f); }
  // The same of a run of chunks, and how many rows of the partition each chunk has.
  void read(std::size_t partition, std::size_t first, std::size_t end, function_ref<void(const stored_rows&)> f);
  std::vector<std::size_t> rows_by_chunk(std::size_t partition) const;
  // All writers have finished: what they left for the next one goes. The first reader does the same.
  std::size_t drop_spares();  // how many bytes they had
  // The partition is done with. Memory goes back where its neighbours are done with too.
  void release(std::size_t partition);
  // Does the store own values of a column, instead of the numbers of rows elsewhere?
  bool owns_values(std::size_t column) const;
  // Bytes of a partition's values that own memory, where they are kept as bytes (value_bytes.hpp).
  std::uint64_t value_bytes(std::size_t partition) const;
  // About what its rows own on the heap when they are read, but for those that are kept by number.
  std::uint64_t heap_bytes(std::size_t partition) const;

 private:
  friend class partition_writer;
  static constexpr std::size_t most_chunk = 1 << 18;  // rows

  struct page {
    runtime::buffer memory;                          // blocks, one a partition
    std::vector<std::size_t> begins;                 // of each block; one more: the end
    std::vector<runtime::temp_file::place> in_file;  // of each block; empty: not written
    int pins = 0;
    bool done = false;  // nobody reads it any more
  };
  struct stored_column {
    enum class as : std::uint8_t { nothing, value, number, bytes } how = as::nothing;
    std::size_t field = 0;                  // of a block: values or row numbers. Values kept as bytes follow all fields
    const std::byte* base = nullptr;        // of what the numbers count
    std::size_t stride = 0;
    std::optional<std::size_t> objects = {};  // what they count are these
  };
  struct layout {
    std::vector<stored_column> columns;
    std::vector<std::size_t> widths;  // of a block's fields
    std::optional<std::size_t> positions;
    std::size_t objects = 0, as_bytes = 0;  // how many columns
    std::size_t fields_end(std::size_t rows) const { return begin_of(widths.size(), rows); }
    std::size_t block_bytes(std::size_t rows, std::size_t values) const;  // values: bytes of those that are kept so
    std::size_t begin_of(std::size_t field, std::size_t rows) const;  // in a block
  };
  struct chunk {
    layout how;
    std::uint64_t first = 0;            // number of its first row, among those of all parts
    std::vector<std::uint32_t> begins;  // of partitions, in rows; one more: the end
    std::vector<std::unique_ptr<page>> pages;
    std::vector<rows_buffer> objects;
    std::size_t rows_of(std::size_t partition) const { return begins[partition + 1] - begins[partition]; }
  };
  class pinned;
  // Memory in which a writer gathers a chunk. The next writer takes it over: the system would have to clear fresh memory.
  struct chunk_memory {
    std::vector<runtime::buffer> fields;  // as the rows came; positions have none
    runtime::buffer bytes, bytes_end;     // of values, row by row; and where each row's end
    runtime::buffer partition_of;
    std::size_t rows = 0;                 // that there is room for
  };
  chunk_memory take_spare();
  void keep_spare(chunk_memory m);

  static std::size_t rows_a_chunk(std::size_t row_bytes, std::size_t memory_limit, std::size_t threads);
  std::size_t evict(std::size_t bytes) override;
  void write(page& g);
  page* next_to_evict();
  std::size_t unpin(page& g, std::unique_lock<std::mutex>& hold);  // how many bytes it gave back
  void add(std::size_t part, std::unique_ptr<chunk> c);
  void hand_out(const chunk& c, std::size_t part, const std::byte* block, std::size_t rows,
                function_ref<void(const stored_rows&)> f) const;

  planner::column_schema schema_;
  std::vector<bool> has_bytes_;  // by column: values that must be copied are kept as bytes
  unsigned bits_;
  std::size_t of_band_;  // partitions whose blocks share a page
  bool numbered_;
  // They belong to the session, as rows may be kept beyond the run that wrote them.
  runtime::buffer_pool* pool_;
  runtime::temp_space* temp_;
  std::size_t threads_, writers_;  // writers: at once
  runtime::buffer_pool* evicts_for_;  // null: nothing leaves memory
  std::shared_ptr<runtime::pieces_run> told_;
  std::shared_ptr<runtime::profiled_run> run_;
  runtime::profiled_vertex* wrote_;  // of that run, whose rows these are; null: nobody counts
  std::mutex lock_;
  std::vector<std::vector<std::unique_ptr<chunk>>> parts_;
  std::vector<std::vector<page*>> in_memory_;  // by band
  std::vector<std::size_t> left_;              // by band: partitions that are not released
  std::optional<runtime::temp_file> file_;     // made by the first eviction
  std::exception_ptr broken_;                  // what was wrong with the file
  std::vector<chunk_memory> spares_;           // of writers that have finished, until somebody reads
};

class partition_writer {
 public:
  partition_writer(partition_store& to, std::size_t part);

  // Row i goes to partitions[i]. owned: what is transient may be moved from.
  void append(std::span<const column> columns, std::size_t n, const std::uint16_t* partitions, bool owned);
  void finish();

 private:
  // Columns whose rows have the same numbers.
  struct numbering {
    std::size_t field = 0;
    const std::uint32_t* select = nullptr;
    std::uint64_t from = 0;
  };
  void begin(std::span<const column> columns);
  void make_room(std::size_t rows);
  bool objects_are_large() const;
  bool fits(std::span<const column> columns, std::size_t n);
  std::size_t keep_bytes(std::span<const column> columns, std::size_t n);
  void keep(std::span<const column> columns, std::size_t n, const std::uint16_t* partitions, bool owned);
  void flush();

  partition_store* to_;
  std::size_t part_;
  std::uint64_t before_ = 0;  // rows of the part in chunks that are laid out
  std::size_t capacity_ = 0, n_ = 0;  // rows of the chunk: at most, and so far
  partition_store::layout how_;
  std::vector<numbering> numberings_;
  std::vector<rows_buffer> objects_;
  partition_store::chunk_memory memory_;
  std::size_t bytes_n_ = 0, most_bytes_ = 0;
  std::vector<rows_buffer> whole_;     // of values that lie in parts
  std::vector<std::uint32_t> counts_;
};

}  // namespace query::cpu
