#include "gpu_engine/device/expressions.cuh"
#include "gpu_engine/device/new_texts.cuh"
#include "gpu_primitives/compact.cuh"
using namespace query::gpu;
struct words { u64 w[14]; const u64* halt; };
__device__ __forceinline__ bool equal_0(const text& a, const text& b) {
  return equal(a, b);
}
__device__ __noinline__ bool rows_11(const words& p, u64 i, text& out) {
  const text v1 = ((const text* __restrict__)p.w[0])[i];
  const text v2 = text{((const char*)p.w[1]), (u64)p.w[2]};
  const bool v3 = !equal_0(v1, v2);
  if (!v3) return false;
  const text v4 = text{((const char*)p.w[3]), (u64)p.w[4]};
  const text v5 = ((const text* __restrict__)p.w[0])[i];
  const text v6 = to_upper(query::gpu::text_room{((u8*)p.w[5]), p.w[6], ((u64*)p.w[7])}, v5);
  const text v7 = joined(query::gpu::text_room{((u8*)p.w[5]), p.w[6], ((u64*)p.w[7])}, v4, v6);
  const text v8 = text{((const char*)p.w[8]), (u64)p.w[9]};
  const text v9 = joined(query::gpu::text_room{((u8*)p.w[5]), p.w[6], ((u64*)p.w[7])}, v7, v8);
  const text row10 = v9;
  out = row10;
  return true;
}
using policy = compact_policy<text>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  text* const out = ((text*)p.w[10]);
  compact<policy, text>(p.w[11], ((void*)p.w[12]), ((u64*)p.w[13]),
    [&](u64 i, text& item) { return rows_11(p, i, item); },
    [&](u64 at, const text& item) { out[at] = item; });
}
