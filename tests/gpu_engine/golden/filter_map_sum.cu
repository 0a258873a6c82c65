#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/reduce.cuh"
using namespace query::gpu;
struct words { u64 w[6]; const u64* halt; };
__device__ __forceinline__ bool rows_8(const words& p, u64 i, double& out) {
  const i64 v1 = ((const i64* __restrict__)p.w[0])[i];
  const bool v2 = v1 > (i64)p.w[1];
  if (!v2) return false;
  const double v3 = ((const double* __restrict__)p.w[2])[i];
  const i64 v4 = ((const i64* __restrict__)p.w[0])[i];
  const double v5 = convert<double>(v4);
  const double v6 = mul<double>(v3, v5);
  const double row7 = v6;
  out = row7;
  return true;
}
struct state { double value; u64 count; };
extern "C" __global__ void __launch_bounds__(256) fold_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const state none = {0, 0};
  reduce<reduce_policy<state>>(p.w[3], none,
    [&](u64 i, state& into) { double row; if (!rows_8(p, i, row)) return; into.value = add<double>(into.value, (double)row); ++into.count; },
    [](const state& a, const state& b) { return state{add<double>(a.value, b.value), a.count + b.count}; }, ((void*)p.w[4]),
    [&](const state& s) { u64* const out = ((u64*)p.w[5]); *(double*)out = s.value; out[1] = s.count; });
}
