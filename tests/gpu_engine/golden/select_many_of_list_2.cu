#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/scan.cuh"
using namespace query::gpu;
struct words { u64 w[6]; const u64* halt; };
using policy = scan_policy<u64>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) place_lists(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  exclusive_scan<policy, u64>(p.w[0], ((void*)p.w[1]), u64(0), [&](u64 i) -> u64 { return (((const list<double>*)p.w[2]))[i].size; },
    [](u64 a, u64 b) { return a + b; }, [&](u64 i, u64 before) { (((u64*)p.w[3]))[i] = before; }, [&](u64 sum) { *((u64*)p.w[4]) = sum; });
}
// The last list that begins at or before row `at`, among [low, high).
__device__ __forceinline__ u64 list_of(const u64* starts, u64 low, u64 high, u64 at) {
  while (high - low > 1) {
    const u64 middle = low + (high - low) / 2;
    if (starts[middle] <= at) low = middle; else high = middle;
  }
  return low;
}
extern "C" __global__ void __launch_bounds__(256) take_elements(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  __shared__ u64 ends[2];
  const u64* const starts = ((u64*)p.w[3]);
  const u64 total = *((u64*)p.w[4]), begin = blockIdx.x * 1024ull, end = smaller(begin + 1024ull, total);
  if (threadIdx.x < 2) ends[threadIdx.x] = list_of(starts, 0, p.w[0], threadIdx.x ? end - 1 : begin);
  __syncthreads();
  for (u64 at = begin + threadIdx.x; at < end; at += 256) {
    const u64 i = list_of(starts, ends[0], ends[1] + 1, at);
    (((double*)p.w[5]))[at] = (((const list<double>*)p.w[2]))[i].at[at - starts[i]];
  }
}
