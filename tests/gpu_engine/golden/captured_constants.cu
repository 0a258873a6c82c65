#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/compact.cuh"
using namespace query::gpu;
struct words { u64 w[10]; const u64* halt; };
__device__ __forceinline__ bool rows_10(const words& p, u64 i, double& out) {
  const i32 v1 = ((const i32* __restrict__)p.w[0])[i];
  const bool v2 = v1 >= (i32)p.w[1];
  if (!v2) return false;
  const double v3 = ((const double* __restrict__)p.w[2])[i];
  const double v4 = mul<double>(v3, bits_f64(p.w[3]));
  const i64 v5 = ((const i64* __restrict__)p.w[4])[i];
  const i64 v6 = sub<i64>(v5, (i64)p.w[5]);
  const double v7 = convert<double>(v6);
  const double v8 = add<double>(v4, v7);
  const double row9 = v8;
  out = row9;
  return true;
}
using policy = compact_policy<double>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[6]);
  compact<policy, double>(p.w[7], ((void*)p.w[8]), ((u64*)p.w[9]),
    [&](u64 i, double& item) { return rows_10(p, i, item); },
    [&](u64 at, const double& item) { out[at] = item; });
}
