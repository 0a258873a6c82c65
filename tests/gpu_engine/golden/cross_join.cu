#include "gpu_engine/device/expressions.cuh"
using namespace query::gpu;
struct words { u64 w[5]; const u64* halt; };
__device__ __forceinline__ double pair_of(const words& p, u64 a, u64 b) {
  const double v1 = ((const double* __restrict__)p.w[0])[a];
  const double v2 = ((const double* __restrict__)p.w[1])[b];
  const double v3 = mul<double>(v1, v2);
  return v3;
}
extern "C" __global__ void __launch_bounds__(256) pair_all(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[2]);
  const u64 m = p.w[3];
  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < p.w[4]; j += gridDim.x * 256ull) out[j] = pair_of(p, j / m, j % m);
}
