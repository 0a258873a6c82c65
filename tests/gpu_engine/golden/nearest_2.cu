#include "gpu_engine/device/expressions.cuh"
#include "gpu_engine/device/nearest.cuh"
using namespace query::gpu;
struct words { u64 w[11]; const u64* halt; };
struct alignas(4) T1 {
  float a[20];
};
static_assert(sizeof(T1) == 80);
struct alignas(4) T0 {
  T1 f0;
};
static_assert(sizeof(T0) == 80);
extern "C" __global__ void __launch_bounds__(nearest_prepare_threads) prepare_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  prepare_nearest<20>(((uint4*)p.w[0]), (u32)p.w[1], [&](u64 j) { return (const float*)((const char*)(((const T0*)p.w[2]) + j) + 0); });
}
extern "C" __global__ void __launch_bounds__(nearest_threads, 2) find_nearest_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(128) uint4 shared[];
  nearest_rows<20, 16, false>(p.w[3], ((const uint4*)p.w[0]), 10, [&](u64 i) { return (const float*)((const char*)(((const T1*)p.w[4]) + i) + 0); }, ((u64*)p.w[5]), nearest_lists{((nearest_pair*)p.w[6]), ((u64*)p.w[7]), p.w[8], ((nearest_listed*)p.w[9]), ((u64*)p.w[7]) + 1}, shared);
}
extern "C" __global__ void __launch_bounds__(nearest_threads, 2) find_candidates(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(128) uint4 shared[];
  nearest_rows<20, 16, true>(p.w[3], ((const uint4*)p.w[0]), 10, [&](u64 i) { return (const float*)((const char*)(((const T1*)p.w[4]) + i) + 0); }, ((u64*)p.w[5]), nearest_lists{((nearest_pair*)p.w[6]), ((u64*)p.w[7]), p.w[8], ((nearest_listed*)p.w[9]), ((u64*)p.w[7]) + 1}, shared);
}
__device__ __forceinline__ float written_distance(const words& p, u64 i, u64 j) {
  const T1 v1 = load_wide<16>(((const T1* __restrict__)p.w[4])[i]);
  float s2[4] = {};
  #pragma unroll
  for (u32 e = 0; e < 20; ++e) {
    const float d = sub<float>(v1.a[e], ((const T0*)p.w[2])[j].f0.a[e]);
    s2[e % 4] = add<float>(s2[e % 4], mul<float>(d, d));
  }
  float v3 = 0;
  #pragma unroll
  for (u32 e = 0; e < 4; ++e) v3 = add<float>(v3, s2[e]);
  const float v4 = v3;
  return v4;
}
extern "C" __global__ void __launch_bounds__(256) compare_candidates(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  compare_exactly(nearest_lists{((nearest_pair*)p.w[6]), ((u64*)p.w[7]), p.w[8], ((nearest_listed*)p.w[9]), ((u64*)p.w[7]) + 1}, ((u64*)p.w[5]), ((u64*)p.w[10]), [&](u64 i, u64 j) { return written_distance(p, i, j); });
}
