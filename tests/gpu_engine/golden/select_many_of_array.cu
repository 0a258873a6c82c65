#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[3]; const u64* halt; };
struct alignas(4) T1 {
  float a[20];
};
static_assert(sizeof(T1) == 80);
struct alignas(4) T0 {
  T1 f0;
};
static_assert(sizeof(T0) == 80);
__device__ __forceinline__ bool rows_3(const words& p, u64 i, T1& out) {
  const T1 v1 = load_wide<16>(((const T0* __restrict__)p.w[0])[i].f0);
  const T1 row2 = v1;
  out = row2;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T1* const out = ((T1*)p.w[1]);
  write_rows<256>(p.w[2], out, [&](u64 i) {
    T1 row;
    rows_3(p, i, row);
    return row;
  });
}
