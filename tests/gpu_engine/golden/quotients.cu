#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[5]; const u64* halt; };
struct alignas(8) T0 {
  i64 f0;
  i64 f1;
};
static_assert(sizeof(T0) == 16);
__device__ __forceinline__ bool rows_8(const words& p, u64 i, T0& out) {
  const i64 v1 = ((const i64* __restrict__)p.w[0])[i];
  const i32 v2 = ((const i32* __restrict__)p.w[1])[i];
  const i64 v3 = convert<i64>(v2);
  const i64 v4 = div<i64>(v1, v3, ((u64*)p.w[2]), 0);
  const i64 v5 = mod<i64>(v1, ((i64)10ull), ((u64*)p.w[2]), 0);
  T0 v6;
  v6.f0 = v4;
  v6.f1 = v5;
  const T0 row7 = v6;
  out = row7;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T0* const out = ((T0*)p.w[3]);
  write_rows<256>(p.w[4], out, [&](u64 i) {
    T0 row;
    rows_8(p, i, row);
    return row;
  });
}
