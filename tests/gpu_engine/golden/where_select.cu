#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/compact.cuh"
using namespace query::gpu;
struct words { u64 w[9]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
};
static_assert(sizeof(T0) == 16);
__device__ __forceinline__ bool rows_10(const words& p, u64 i, T0& out) {
  const double v1 = ((const double* __restrict__)p.w[0])[i];
  const bool v2 = v1 > bits_f64(p.w[1]);
  const i64 v3 = ((const i64* __restrict__)p.w[2])[i];
  const bool v4 = v3 < (i64)p.w[3];
  const bool v5 = v2 && v4;
  if (!v5) return false;
  const i32 v6 = ((const i32* __restrict__)p.w[4])[i];
  const double v7 = ((const double* __restrict__)p.w[0])[i];
  T0 v8;
  v8.f0 = v6;
  v8.f1 = v7;
  const T0 row9 = v8;
  out = row9;
  return true;
}
using policy = compact_policy<T0>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T0* const out = ((T0*)p.w[5]);
  compact<policy, T0>(p.w[6], ((void*)p.w[7]), ((u64*)p.w[8]),
    [&](u64 i, T0& item) { return rows_10(p, i, item); },
    [&](u64 at, const T0& item) { out[at] = item; });
}
