#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/sort_keys.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[6]; const u64* halt; };
struct alignas(4) T1 {
  i32 v;
  bool has;
};
static_assert(sizeof(T1) == 8);
struct alignas(4) T2 {
  float a[4];
};
static_assert(sizeof(T2) == 16);
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
  T1 f3;
  T2 f4;
  text f5;
};
static_assert(sizeof(T0) == 64);
using number = u32;
__device__ __forceinline__ T1 key_0(const words& p, u64 i) {
  const T1 v1 = ((const T0* __restrict__)p.w[0])[i].f3;
  return v1;
}
__device__ __forceinline__ u64 row_at(const words& p, u64 j) {
  const number* order = ((const number*)p.w[1]);
  return order ? order[j] : j;
}
__device__ __forceinline__ u32 sort_word_0(const words& p, u64 row) {
  const auto v = key_0(p, row);
  return (v.has ? u32(descending_key(sort_key(v.v))) : u32(0));
}
extern "C" __global__ void __launch_bounds__(256) words_0(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  u32* const made = ((u32*)p.w[2]);
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < p.w[3]; i += gridDim.x * 256ull) made[i] = sort_word_0(p, i);
}
__device__ __forceinline__ u32 sort_word_1(const words& p, u64 row) {
  const auto v = key_0(p, row);
  return u32(null_key(v.has, false));
}
extern "C" __global__ void __launch_bounds__(256) words_1(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  u32* const made = ((u32*)p.w[2]);
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < p.w[3]; i += gridDim.x * 256ull) made[i] = sort_word_1(p, i);
}
extern "C" __global__ void __launch_bounds__(256) gather_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T0* const out = ((T0*)p.w[4]);
  const u64 n = p.w[5];
  copy_rows<256>(n, ((const T0* __restrict__)p.w[0]), out, [&](u64 j) { return row_at(p, j); });
}
