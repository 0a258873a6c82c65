#include "gpu_engine/device/expressions.cuh"
#include "gpu_engine/device/captured_tables.cuh"
#include "gpu_primitives/compact.cuh"
using namespace query::gpu;
struct words { u64 w[9]; const u64* halt; };
extern __shared__ __align__(16) u8 captured[];
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
};
static_assert(sizeof(T0) == 16);
__device__ __forceinline__ bool rows_20(const words& p, u64 i, double& out) {
  bool v2;
  v2 = false;
  for (u64 j1 = 0; j1 < p.w[0]; ++j1) {
    const i32 v3 = ((const T0*)captured)[j1].f0;
    const i32 v4 = ((const i32* __restrict__)p.w[1])[i];
    const bool v5 = v3 == v4;
    const double v6 = ((const T0*)captured)[j1].f1;
    const double v7 = ((const double* __restrict__)p.w[2])[i];
    const bool v8 = v6 < v7;
    const bool v9 = v5 && v8;
    v2 = v9;
    if (v2) break;
  }
  const bool v10 = v2;
  if (!v10) return false;
  double v12;
  v12 = double{};
  for (u64 j11 = 0; j11 < p.w[0]; ++j11) {
    const i32 v13 = ((const T0*)captured)[j11].f0;
    const i32 v14 = ((const i32* __restrict__)p.w[1])[i];
    const bool v15 = v13 < v14;
    const double v16 = ((const T0*)captured)[j11].f1;
    const double v17 = v15 ? v16 : bits_f64(p.w[3]);
    v12 = add<double>(v12, v17);
  }
  const double v18 = v12;
  const double row19 = v18;
  out = row19;
  return true;
}
using policy = compact_loops_policy<double>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  copy_captured(captured, ((const T0*)p.w[4]), p.w[0]);
  __syncthreads();
  double* const out = ((double*)p.w[5]);
  compact<policy, double>(p.w[6], ((void*)p.w[7]), ((u64*)p.w[8]),
    [&](u64 i, double& item) { return rows_20(p, i, item); },
    [&](u64 at, const double& item) { out[at] = item; });
}
