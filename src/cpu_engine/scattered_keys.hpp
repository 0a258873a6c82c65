// The computed keys of a table's rows, laid out by partition of their hash with the numbers of their rows: what group_by reads
// partition by partition, and gives back on the way, so that the results grow where the keys were.
//
//   scattered_keys keys(key_calls, type, equality, rows, bits, tasks);
//   keys.each_run(p, [&](const std::uint32_t* rows, const void* keys, std::size_t n) { ... });   // rows in ascending order
//   keys.release(p);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <query/detail/function_ref.hpp>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class scattered_keys {
 public:
  // Calls the function once a row; the partition of a key is the `bits` leading bits of its hash, at most 16.
  scattered_keys(const function_calls& key, const ir::type* type, key_equality equality, const detail::table& rows, unsigned bits,
                 const vertex_tasks& tasks);

  std::size_t rows_of(std::size_t partition) const;
  void each_run(std::size_t partition, function_ref<void(const std::uint32_t* rows, const void* keys, std::size_t n)> f) const;
  // The partition is done with, once each; thread-safe. Memory goes back where its neighbours are done too.
  void release(std::size_t partition);

 private:
  // Of one chunk of rows and one band of adjacent partitions.
  struct band {
    runtime::buffer rows;
    rows_buffer keys;
  };
  struct chunk {
    std::vector<std::uint32_t> begins;  // by partition, in its band
    std::vector<band> bands;
  };
  void scatter(const function_calls& key, key_equality equality, const detail::table& rows, std::size_t first, std::size_t n,
               const vertex_tasks& tasks, chunk& to) const;

  const ir::type* type_;
  runtime::buffer_pool* pool_;
  unsigned bits_;
  std::size_t of_band_;  // partitions
  std::vector<chunk> chunks_;
  std::unique_ptr<std::atomic<std::size_t>[]> left_;  // by band: partitions not released
};

}  // namespace query::cpu
