#include "gpu_engine/device/expressions.cuh"
#include "gpu_engine/device/partition_hash.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[12]; const u64* halt; };
struct alignas(4) T0 {
  i32 v;
  bool has;
};
static_assert(sizeof(T0) == 8);
struct alignas(4) T1 {
  float a[4];
};
static_assert(sizeof(T1) == 16);
struct alignas(8) T2 {
  T0 f0;
  text f1;
};
static_assert(sizeof(T2) == 24);
struct alignas(8) T3 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
  T0 f3;
  T1 f4;
  text f5;
};
static_assert(sizeof(T3) == 64);
__device__ __forceinline__ T2 partition_key(const words& p, u64 i) {
  const T0 v1 = ((const T0* __restrict__)p.w[0])[i];
  const text v2 = ((const text* __restrict__)p.w[1])[i];
  T2 v3;
  v3.f0 = v1;
  v3.f1 = v2;
  return v3;
}
__device__ __forceinline__ u64 partition_hash_4(const i32& v) {
  return partition_word(ordered_word<i32>(v));
}
__device__ __forceinline__ u64 partition_hash_5(const T0& v) {
  return v.has ? partition_hash_4(v.v) : partition_null;
}
__device__ __forceinline__ u64 partition_more_6(const T0& v, u64 h) {
  return partition_combine(h, partition_hash_5(v));
}
__device__ __forceinline__ u64 partition_more_7(const text& v, u64 h) {
  return partition_combine(h, partition_text(v));
}
__device__ __forceinline__ u64 partition_more_8(const T2& v, u64 h) {
  h = partition_more_6(v.f0, h);
  h = partition_more_7(v.f1, h);
  return h;
}
__device__ __forceinline__ u64 partition_hash_9(const T2& v) {
  return partition_more_8(v, 0);
}
extern "C" __global__ void __launch_bounds__(256) number_parts(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < p.w[2]; i += gridDim.x * 256ull) {
    ((u32*)p.w[3])[i] = partition_of(partition_hash_9(partition_key(p, i)), p.w[4]);
  }
}
extern "C" __global__ void __launch_bounds__(256) starts_of_hashes(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 part = blockIdx.x * 256ull + threadIdx.x; part < p.w[4]; part += gridDim.x * 256ull) {
    const u32* const number = ((const u32*)p.w[3]);
    u64 from = 0, to = p.w[2];
    while (from < to) {
      const u64 j = from + (to - from) / 2;
      if (number[((const u32*)p.w[5])[j]] < part) from = j + 1;
      else to = j;
    }
    ((u64*)p.w[6])[part] = from;
  }
}
extern "C" __global__ void __launch_bounds__(256) gather_parts(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  write_rows<256>(p.w[2], ((T3*)p.w[7]), [&](u64 j) -> T3 {
    const u64 i = ((const u32*)p.w[5])[j];
    return T3{.f0 = ((const i32* __restrict__)p.w[8])[i], .f1 = ((const double* __restrict__)p.w[9])[i], .f2 = ((const i64* __restrict__)p.w[10])[i], .f3 = ((const T0* __restrict__)p.w[0])[i], .f4 = ((const T1* __restrict__)p.w[11])[i], .f5 = ((const text* __restrict__)p.w[1])[i]};
  });
}
