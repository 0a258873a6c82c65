#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[4]; const u64* halt; };
struct alignas(4) T0 {
  float a[4];
};
static_assert(sizeof(T0) == 16);
struct alignas(4) T1 {
  float f0;
  float f1;
  T0 f2;
};
static_assert(sizeof(T1) == 24);
__device__ __forceinline__ bool rows_18(const words& p, u64 i, T1& out) {
  const float v1 = ((const T0* __restrict__)p.w[0])[i].a[0];
  const float v2 = ((const T0* __restrict__)p.w[0])[i].a[3];
  const float v3 = mul<float>(v1, v2);
  const float v4 = ((const T0* __restrict__)p.w[0])[i].a[1];
  const float v5 = ((const T0* __restrict__)p.w[0])[i].a[2];
  const float v6 = mul<float>(v4, v5);
  const float v7 = sub<float>(v3, v6);
  const float v8 = add<float>(bits_f32(p.w[1]), v1);
  const float v9 = add<float>(bits_f32(p.w[1]), v4);
  const float v10 = add<float>(v8, v9);
  const float v11 = add<float>(bits_f32(p.w[1]), v5);
  const float v12 = add<float>(v10, v11);
  const float v13 = add<float>(bits_f32(p.w[1]), v2);
  const float v14 = add<float>(v12, v13);
  const T0 v15 = load_wide<16>(((const T0* __restrict__)p.w[0])[i]);
  T1 v16;
  v16.f0 = v7;
  v16.f1 = v14;
  v16.f2 = v15;
  const T1 row17 = v16;
  out = row17;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T1* const out = ((T1*)p.w[2]);
  write_rows<256>(p.w[3], out, [&](u64 i) {
    T1 row;
    rows_18(p, i, row);
    return row;
  });
}
