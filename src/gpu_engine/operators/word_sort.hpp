// Sorts row numbers by a column of words, one digit a pass. The programs are the library's own: no query changes their text, so the first
// query that sorts makes them for all others, in this process and, by the folder of kernels, in later ones. What a query adds is the
// kernel that makes its words; a plain number of 32 or 64 bits is read where it lies, whatever its type and direction.
//
//   const word_sort by(64, false);
//   by.run({address, 8, word_column::form_of(number, order)}, {.keys = {k0, k1}, .values = v, .order_in = 0, .order_out = o}, n, run);
#pragma once

#include "gpu_engine/vertex_run.hpp"
#include "gpu_primitives/sort_keys.cuh"

namespace query::gpu_engine {

struct word_column {
  device_address at = 0;
  std::uint64_t stride = 0;                     // bytes from row to row
  gpu::number_form<gpu::u64> form = {0, 0, false};  // {}: words in their order

  // Of numbers of 32 or 64 bits.
  static gpu::number_form<gpu::u64> form_of(const ir::type* number, bool descending);
};

class word_sort {
 public:
  // Words of up to `bits` bits: u32 up to 32, else u64.
  word_sort(std::uint32_t bits, bool wide_numbers);

  static std::uint32_t rounded(std::uint32_t bits) { return bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64; }
  std::uint32_t bits() const { return bits_; }
  const kernel_source& source() const { return k_; }

  struct places {
    // Words between passes: the first where there are two passes, the second where there are more. The column may be the second.
    device_address keys[2] = {0, 0};
    device_address values = 0;    // row numbers between passes
    device_address order_in = 0;  // the order so far; 0: as the rows lie
    device_address order_out = 0;
  };
  // Row numbers of n rows.
  void run(const word_column& by, const places& at, std::uint64_t n, vertex_run& run) const;

 private:
  kernel_source k_;
  std::uint32_t bits_;
  bool wide_;
};

}  // namespace query::gpu_engine
