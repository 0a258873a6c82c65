// Rows in host memory, apart by partition: what does not fit the device together is worked on one partition at a time.
//
//   host_partitions p(row_bytes, 64, context);
//   p.append(rows, places, n);                 // places[i] < 64; any other: the row is left out
//   for (const auto& run : p.rows_of(3)) upload(run.rows, run.n * row_bytes);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/run_context.hpp"

namespace query::gpu_engine {

// One owner. Rows are moved byte by byte: values that own memory still belong to where they came from.
class host_partitions {
 public:
  host_partitions(std::size_t row_bytes, std::uint32_t parts, runtime::run_context& context)
      : row_bytes_(row_bytes), parts_(parts), counts_(parts), context_(context) {}

  // Copies the rows, in order, on all cores. Throws resource_error over the session's memory limit.
  void append(const void* rows, const std::uint32_t* places, std::size_t n);

  struct piece {
    const void* rows;
    std::size_t n;
  };
  std::vector<piece> rows_of(std::uint32_t part) const { return rows_of(part, part + 1); }  // in the order in which they were appended
  // Of the parts first..end-1: each piece has all of one append, part by part.
  std::vector<piece> rows_of(std::uint32_t first, std::uint32_t end) const;
  // The same; of many short pieces one, for which `memory` is taken.
  std::vector<piece> long_pieces_of(std::uint32_t first, std::uint32_t end, runtime::buffer& memory) const;
  std::size_t size(std::uint32_t part) const { return counts_[part]; }
  std::size_t size(std::uint32_t first, std::uint32_t end) const;
  // The end of the parts from `first` on that have no more than `most` rows together; one part at least.
  std::uint32_t end_of(std::uint32_t first, std::size_t most) const;
  std::uint32_t parts() const { return parts_; }
  bool empty() const { return chunks_.empty(); }

  // All of them, in no order but that of each partition's, to somebody else: none are left here.
  std::vector<runtime::begun_streams::rows> give_up();

 private:
  struct chunk {
    runtime::buffer rows;
    std::vector<std::size_t> starts;  // of each part, and the end
  };
  std::size_t row_bytes_;
  std::uint32_t parts_;
  std::vector<std::size_t> counts_;
  std::vector<chunk> chunks_;
  runtime::run_context& context_;
};

}  // namespace query::gpu_engine
