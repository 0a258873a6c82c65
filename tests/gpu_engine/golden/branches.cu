#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[9]; const u64* halt; };
__device__ __forceinline__ bool rows_13(const words& p, u64 i, double& out) {
  const i64 v1 = ((const i64* __restrict__)p.w[0])[i];
  const bool v2 = v1 > (i64)p.w[1];
  const double v3 = ((const double* __restrict__)p.w[2])[i];
  const double v4 = mul<double>(v3, bits_f64(p.w[3]));
  const i32 v5 = ((const i32* __restrict__)p.w[4])[i];
  const bool v6 = v5 == (i32)p.w[5];
  const double v7 = neg<double>(v3);
  const bool v8 = v3 < bits_f64(p.w[6]);
  const double v9 = v8 ? v7 : v3;
  const double v10 = v6 ? v7 : v9;
  const double v11 = v2 ? v4 : v10;
  const double row12 = v11;
  out = row12;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[7]);
  write_rows<256>(p.w[8], out, [&](u64 i) {
    double row;
    rows_13(p, i, row);
    return row;
  });
}
