#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[3]; const u64* halt; };
struct alignas(4) T1 {
  float a[100];
};
static_assert(sizeof(T1) == 400);
struct alignas(4) T0 {
  T1 f0;
  T1 f1;
};
static_assert(sizeof(T0) == 800);
__device__ __forceinline__ bool rows_5(const words& p, u64 i, float& out) {
  float s1[4] = {};
  #pragma unroll 2
  for (u32 r = 0; r < 100; r += 4)
  #pragma unroll
  for (u32 e = r; e < r + 4; ++e) {
    s1[e - r] = add<float>(s1[e - r], mul<float>(((const T0* __restrict__)p.w[0])[i].f0.a[e], ((const T0* __restrict__)p.w[0])[i].f1.a[e]));
  }
  float v2 = 0;
  #pragma unroll
  for (u32 e = 0; e < 4; ++e) v2 = add<float>(v2, s1[e]);
  const float v3 = v2;
  const float row4 = v3;
  out = row4;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  float* const out = ((float*)p.w[1]);
  write_rows<256>(p.w[2], out, [&](u64 i) {
    float row;
    rows_5(p, i, row);
    return row;
  });
}
