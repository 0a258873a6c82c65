#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/compact.cuh"
using namespace query::gpu;
struct words { u64 w[11]; const u64* halt; };
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
__device__ __forceinline__ bool rows_3(const words& p, u64 i, T2& out) {
  const i64 v1 = ((const i64* __restrict__)p.w[0])[i];
  const bool v2 = v1 > (i64)p.w[1];
  if (!v2) return false;
  out = T2{.f0 = ((const i32* __restrict__)p.w[2])[i], .f1 = ((const double* __restrict__)p.w[3])[i], .f2 = ((const i64* __restrict__)p.w[0])[i], .f3 = ((const T0* __restrict__)p.w[4])[i], .f4 = ((const T1* __restrict__)p.w[5])[i], .f5 = ((const text* __restrict__)p.w[6])[i]};
  return true;
}
using policy = compact_policy<T2>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T2* const out = ((T2*)p.w[7]);
  compact<policy, T2>(p.w[8], ((void*)p.w[9]), ((u64*)p.w[10]),
    [&](u64 i, T2& item) { return rows_3(p, i, item); },
    rows_as_they_lie<T2>{out});
}
