#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/sort_keys.cuh"
using namespace query::gpu;
struct words { u64 w[9]; const u64* halt; };
using policy = radix_policy<u64, no_value>;
__device__ __forceinline__ double row_of(const words& p, u64 j) {
  return ((const double* __restrict__)p.w[0])[j];
}
__device__ __forceinline__ u64 key_of(double v) {
  return u64(u64(descending_key(sort_key(v))));
}
extern "C" __global__ void __launch_bounds__(policy::histogram_threads) count_keys(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  bool told = true;
  radix_histogram<policy, 64>(p.w[1], ((void*)p.w[2]), [&](u64 j) -> u64 {
    const double v = row_of(p, j);
    told = told && sort_key_tells(v);
    return key_of(v);
  });
  if (!told) store_relaxed(((u64*)p.w[3]), u64(1));
}
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) sweep_keys(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) u8 shared[];
  const radix_buffers<u64, no_value> between{{((u64*)p.w[4]), ((u64*)p.w[5])}, {nullptr, nullptr}};
  double* const out = ((double*)p.w[6]);
  const u64 kept = p.w[7];
  radix_sweep<policy, 64, u64, no_value, u32>((u32)p.w[8], p.w[1], ((void*)p.w[2]), between, shared,
    [&](u64 j) { return key_of(row_of(p, j)); }, [](u64) { return no_value{}; },
    [&](u64 at, u64 k) {
      if (at < kept) out[at] = from_sort_key<double>(descending_key(k));
    }, [](u64, no_value) {});
}
