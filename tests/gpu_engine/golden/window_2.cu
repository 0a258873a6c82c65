#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[8]; const u64* halt; };
__device__ __forceinline__ double result_of(const words& p, const list<double>& run) {
  double v2;
  v2 = double{};
  for (u64 j1 = 0; j1 < run.size; ++j1) {
    const double v3 = run.at[j1];
    v2 = add<double>(v2, v3);
  }
  const double v4 = v2;
  const u64 v5 = (u64)run.size;
  const double v6 = convert<double>(v5);
  const double v7 = div<double>(v4, v6, ((u64*)p.w[0]), 0);
  const u64 v8 = inside((i64)p.w[1], run.size, ((u64*)p.w[0]), 0);
  double v9;
  if (run.size) v9 = run.at[v8]; else v9 = double{};
  const double v10 = sub<double>(v7, v9);
  return v10;
}
extern "C" __global__ void __launch_bounds__(256) gather_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  write_rows<256>(p.w[2], ((double*)p.w[3]), [&](u64 k) -> double {
    const u64 first = k * p.w[4], left = p.w[5] - first;
    return result_of(p, list<double>{((const double*)p.w[6]) + first, left < p.w[7] ? left : p.w[7]});
  });
}
