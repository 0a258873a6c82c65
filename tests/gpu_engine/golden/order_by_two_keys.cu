#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[5]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
};
static_assert(sizeof(T0) == 24);
__device__ __forceinline__ bool rows_6(const words& p, u64 i, T0& out) {
  const i32 v1 = ((const i32* __restrict__)p.w[0])[i];
  const double v2 = ((const double* __restrict__)p.w[1])[i];
  const i64 v3 = ((const i64* __restrict__)p.w[2])[i];
  T0 v4;
  v4.f0 = v1;
  v4.f1 = v2;
  v4.f2 = v3;
  const T0 row5 = v4;
  out = row5;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T0* const out = ((T0*)p.w[3]);
  write_rows<256>(p.w[4], out, [&](u64 i) {
    T0 row;
    rows_6(p, i, row);
    return row;
  });
}
