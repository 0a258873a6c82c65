#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/sort_keys.cuh"
using namespace query::gpu;
struct words { u64 w[11]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
};
static_assert(sizeof(T0) == 24);
using number = u32;
__device__ __forceinline__ double key_1(const words& p, u64 i) {
  const double v1 = ((const T0* __restrict__)p.w[0])[i].f1;
  return v1;
}
__device__ __forceinline__ i32 key_0(const words& p, u64 i) {
  const i32 v2 = ((const T0* __restrict__)p.w[0])[i].f0;
  return v2;
}
__device__ __forceinline__ u64 row_at(const words& p, u64 j) {
  const number* order = ((const number*)p.w[1]);
  return order ? order[j] : j;
}
__device__ __forceinline__ u64 sort_word_0(const words& p, u64 row) {
  const auto v = key_1(p, row);
  return u64(descending_key(sort_key(v)));
}
extern "C" __global__ void __launch_bounds__(radix_policy<u64, number>::histogram_threads) count_0(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  radix_histogram<radix_policy<u64, number>, 64>(p.w[2], ((void*)p.w[3]), [&](u64 row) { return sort_word_0(p, row); });
}
extern "C" __global__ void __launch_bounds__(radix_policy<u64, number>::threads, radix_policy<u64, number>::blocks) sweep_0(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) u8 shared[];
  const radix_buffers<u64, number> between{{((u64*)p.w[4]), ((u64*)p.w[5])}, {((number*)p.w[6]), ((number*)p.w[7])}};
  radix_sweep<radix_policy<u64, number>, 64, u64, number, u32>((u32)p.w[8], p.w[2], ((void*)p.w[3]), between, shared,
    [&](u64 j) { return sort_word_0(p, row_at(p, j)); },
    [&](u64 j) { return number(row_at(p, j)); },
    [](u64, u64) {}, [&](u64 at, number row) { ((number*)p.w[7])[at] = row; });
}
__device__ __forceinline__ u32 sort_word_1(const words& p, u64 row) {
  const auto v = key_0(p, row);
  return u32(sort_key(v));
}
extern "C" __global__ void __launch_bounds__(radix_policy<u32, number>::histogram_threads) count_1(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  radix_histogram<radix_policy<u32, number>, 32>(p.w[2], ((void*)p.w[3]), [&](u64 row) { return sort_word_1(p, row); });
}
extern "C" __global__ void __launch_bounds__(radix_policy<u32, number>::threads, radix_policy<u32, number>::blocks) sweep_1(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) u8 shared[];
  const radix_buffers<u32, number> between{{((u32*)p.w[4]), ((u32*)p.w[5])}, {((number*)p.w[6]), ((number*)p.w[7])}};
  radix_sweep<radix_policy<u32, number>, 32, u32, number, u32>((u32)p.w[8], p.w[2], ((void*)p.w[3]), between, shared,
    [&](u64 j) { return sort_word_1(p, row_at(p, j)); },
    [&](u64 j) { return number(row_at(p, j)); },
    [](u64, u32) {}, [&](u64 at, number row) { ((number*)p.w[7])[at] = row; });
}
extern "C" __global__ void __launch_bounds__(256) gather_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T0* const out = ((T0*)p.w[9]);
  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < p.w[10]; j += gridDim.x * 256ull) {
    const u64 i = row_at(p, j);
    out[j] = ((const T0* __restrict__)p.w[0])[i];
  }
}
