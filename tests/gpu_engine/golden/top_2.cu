#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/sort_keys.cuh"
using namespace query::gpu;
struct words { u64 w[13]; const u64* halt; };
using number = u32;
using sort_word = u32;
using policy = radix_policy<sort_word, number>;
__device__ __forceinline__ u64 row_at(const words& p, u64 j) {
  const number* order = ((const number*)p.w[0]);
  return order ? order[j] : j;
}
__device__ __forceinline__ sort_word word_of(const words& p, u64 row) {
  const u8* const at = ((const u8*)p.w[1]) + row * p.w[2];
  const number_form<sort_word> form{(sort_word)p.w[3], (sort_word)p.w[4], p.w[5] != 0};
  return sort_key_of_bits(*(const sort_word*)at, form);
}
extern "C" __global__ void __launch_bounds__(policy::histogram_threads) count_words(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  radix_histogram<policy, 32>(p.w[6], ((void*)p.w[7]), [&](u64 row) { return word_of(p, row); });
}
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) sweep_words(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) u8 shared[];
  const radix_buffers<sort_word, number> between{{((sort_word*)p.w[8]), ((sort_word*)p.w[9])}, {((number*)p.w[10]), ((number*)p.w[11])}};
  radix_sweep<policy, 32, sort_word, number, number, true>((u32)p.w[12], p.w[6], ((void*)p.w[7]), between, shared,
    [&](u64 j) { return word_of(p, row_at(p, j)); },
    [&](u64 j) { return number(row_at(p, j)); },
    [](u64, sort_word) {}, [&](u64 at, number row) { ((number*)p.w[11])[at] = row; });
}
