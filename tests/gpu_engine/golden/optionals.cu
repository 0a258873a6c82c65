#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/compact.cuh"
using namespace query::gpu;
struct words { u64 w[9]; const u64* halt; };
struct alignas(4) T0 {
  i32 v;
  bool has;
};
static_assert(sizeof(T0) == 8);
struct alignas(4) T1 {
  T0 f0;
  i32 f1;
};
static_assert(sizeof(T1) == 12);
__device__ __forceinline__ bool rows_8(const words& p, u64 i, T1& out) {
  const T0 v1 = ((const T0* __restrict__)p.w[0])[i];
  i32 v2;
  if (v1.has) {
    if (!v1.has) fail(((u64*)p.w[1]), empty_optional, 0);
    v2 = v1.v;
  }
  else {
    v2 = (i32)p.w[2];
  }
  const bool v3 = v2 > (i32)p.w[3];
  if (!v3) return false;
  const T0 v4 = ((const T0* __restrict__)p.w[0])[i];
  if (!v4.has) fail(((u64*)p.w[1]), empty_optional, 1);
  const i32 v5 = add<i32>(v4.v, (i32)p.w[4]);
  T1 v6;
  v6.f0 = v4;
  v6.f1 = v5;
  const T1 row7 = v6;
  out = row7;
  return true;
}
using policy = compact_policy<T1>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T1* const out = ((T1*)p.w[5]);
  compact<policy, T1>(p.w[6], ((void*)p.w[7]), ((u64*)p.w[8]),
    [&](u64 i, T1& item) { return rows_8(p, i, item); },
    [&](u64 at, const T1& item) { out[at] = item; });
}
