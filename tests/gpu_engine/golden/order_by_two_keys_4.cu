#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/sort_keys.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[4]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
};
static_assert(sizeof(T0) == 24);
using number = u32;
__device__ __forceinline__ u64 row_at(const words& p, u64 j) {
  const number* order = ((const number*)p.w[0]);
  return order ? order[j] : j;
}
extern "C" __global__ void __launch_bounds__(256) gather_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T0* const out = ((T0*)p.w[1]);
  const u64 n = p.w[2];
  copy_rows<256>(n, ((const T0* __restrict__)p.w[3]), out, [&](u64 j) { return row_at(p, j); });
}
