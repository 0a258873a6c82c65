#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_keys.cuh"
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
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
  T0 f3;
  T1 f4;
  text f5;
};
static_assert(sizeof(T2) == 64);
__device__ __forceinline__ double partition_key(const words& p, u64 i) {
  const double v1 = ((const double* __restrict__)p.w[0])[i];
  return v1;
}
__device__ __forceinline__ bool same_key_2(const double& a, const double& b) {
  return canonical_bits(a) == canonical_bits(b);
}
extern "C" __global__ void __launch_bounds__(256) starts_of_ranges(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 part = blockIdx.x * 256ull + threadIdx.x; part < p.w[1]; part += gridDim.x * 256ull) {
    const u64 n = p.w[2], parts = p.w[1], rest = n % parts, begin = n / parts * part + (part < rest ? part : rest);
    u64 from = begin;
    if (begin > 0 && begin < n) {
      const auto last = partition_key(p, ((const u32*)p.w[3])[begin - 1]);
      for (u64 to = n; from < to;) {
        const u64 j = from + (to - from) / 2;
        if (same_key_2(partition_key(p, ((const u32*)p.w[3])[j]), last)) from = j + 1;
        else to = j;
      }
    }
    ((u64*)p.w[4])[part] = from;
  }
}
extern "C" __global__ void __launch_bounds__(256) number_ranges(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < p.w[2]; j += gridDim.x * 256ull) {
    const u64* const starts = ((const u64*)p.w[4]);
    u64 from = 1, to = p.w[1];
    while (from < to) {
      const u64 part = from + (to - from) / 2;
      if (starts[part] <= j) from = part + 1;
      else to = part;
    }
    ((u32*)p.w[5])[((const u32*)p.w[3])[j]] = u32(from - 1);
  }
}
extern "C" __global__ void __launch_bounds__(256) gather_parts(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  write_rows<256>(p.w[2], ((T2*)p.w[6]), [&](u64 j) -> T2 {
    const u64 i = ((const u32*)p.w[3])[j];
    return T2{.f0 = ((const i32* __restrict__)p.w[7])[i], .f1 = ((const double* __restrict__)p.w[0])[i], .f2 = ((const i64* __restrict__)p.w[8])[i], .f3 = ((const T0* __restrict__)p.w[9])[i], .f4 = ((const T1* __restrict__)p.w[10])[i], .f5 = ((const text* __restrict__)p.w[11])[i]};
  });
}
