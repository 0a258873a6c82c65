#include "gpu_engine/device/expressions.cuh"
#include "gpu_engine/device/captured_tables.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[5]; const u64* halt; };
extern __shared__ __align__(16) u8 captured[];
struct alignas(4) T1 {
  float a[20];
};
static_assert(sizeof(T1) == 80);
struct alignas(4) T0 {
  T1 f0;
};
static_assert(sizeof(T0) == 80);
__device__ __forceinline__ bool rows_12(const words& p, u64 i, i32& out) {
  float v2;
  v2 = float{};
  i64 v3 = -1;
  #pragma unroll 2
  for (u64 j1 = 0; j1 < p.w[0]; ++j1) {
    const T1 v4 = load_wide<16>(((const T0* __restrict__)p.w[1])[i].f0);
    const T1 v5 = load_wide<16>(((const T0*)captured)[j1].f0);
    float s6[4] = {};
    #pragma unroll
    for (u32 e = 0; e < 20; ++e) {
      const float d = sub<float>(v4.a[e], v5.a[e]);
      s6[e % 4] = add<float>(s6[e % 4], mul<float>(d, d));
    }
    float v7 = 0;
    #pragma unroll
    for (u32 e = 0; e < 4; ++e) v7 = add<float>(v7, s6[e]);
    const float v8 = v7;
    const float v9 = v8;
    if (j1 == 0 || (v9 < v2)) {
      v2 = v9;
      v3 = (i64)j1;
    }
  }
  const i32 v10 = convert<i32>(v3);
  const i32 row11 = v10;
  out = row11;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  copy_captured(captured, ((const T0*)p.w[2]), p.w[0]);
  __syncthreads();
  i32* const out = ((i32*)p.w[3]);
  write_rows<256>(p.w[4], out, [&](u64 i) {
    i32 row;
    rows_12(p, i, row);
    return row;
  });
}
