#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[6]; const u64* halt; };
__device__ __forceinline__ bool rows_13(const words& p, u64 i, double& out) {
  const double v1 = ((const double* __restrict__)p.w[0])[i];
  double v2;
  v2 = v1;
  for (u32 round_3 = 0;; ++round_3) {
    const double v4 = mul<double>(v2, v2);
    const double v5 = sub<double>(v4, v1);
    const double v6 = absolute<double>(v5);
    const bool v7 = v6 > bits_f64(p.w[1]);
    if (!v7) break;
    if (round_3 == 16777216u) {
      fail(((u64*)p.w[2]), endless_loop, 0);
      break;
    }
    const double v8 = div<double>(v1, v2, ((u64*)p.w[2]), 0);
    const double v9 = add<double>(v2, v8);
    const double v10 = div<double>(v9, bits_f64(p.w[3]), ((u64*)p.w[2]), 0);
    const double v11 = v10;
    v2 = v11;
  }
  const double row12 = v2;
  out = row12;
  return true;
}
extern "C" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[4]);
  write_rows<256>(p.w[5], out, [&](u64 i) {
    double row;
    rows_13(p, i, row);
    return row;
  });
}
