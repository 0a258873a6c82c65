#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/compact.cuh"
using namespace query::gpu;
struct words { u64 w[9]; const u64* halt; };
struct alignas(8) T1 {
  i32 f0;
  u8 gap0[4];
  double f1;
};
static_assert(sizeof(T1) == 16);
__device__ __forceinline__ bool rows_18(const words& p, u64 i, T1& out) {
  const list<double> v1 = ((const list<double>* __restrict__)p.w[0])[i];
  bool v3;
  v3 = false;
  for (u64 j2 = 0; j2 < v1.size; ++j2) {
    const double v4 = v1.at[j2];
    const bool v5 = v4 > bits_f64(p.w[1]);
    v3 = v5;
    if (v3) break;
  }
  const bool v6 = v3;
  if (!v6) return false;
  const i32 v7 = ((const i32* __restrict__)p.w[2])[i];
  const list<double> v8 = ((const list<double>* __restrict__)p.w[0])[i];
  double v10;
  v10 = double{};
  for (u64 j9 = 0; j9 < v8.size; ++j9) {
    const double v11 = v8.at[j9];
    v10 = add<double>(v10, v11);
  }
  const double v12 = v10;
  const u64 v13 = inside((i64)p.w[3], v8.size, ((u64*)p.w[4]), 1);
  double v14;
  if (v8.size) v14 = v8.at[v13]; else v14 = double{};
  const double v15 = div<double>(v12, v14, ((u64*)p.w[4]), 1);
  T1 v16;
  v16.f0 = v7;
  v16.f1 = v15;
  const T1 row17 = v16;
  out = row17;
  return true;
}
using policy = compact_loops_policy<T1>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T1* const out = ((T1*)p.w[5]);
  compact<policy, T1>(p.w[6], ((void*)p.w[7]), ((u64*)p.w[8]),
    [&](u64 i, T1& item) { return rows_18(p, i, item); },
    [&](u64 at, const T1& item) { out[at] = item; });
}
