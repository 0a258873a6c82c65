#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/grouper.cuh"
#include "gpu_primitives/row_writes.cuh"
using namespace query::gpu;
struct words { u64 w[6]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
};
static_assert(sizeof(T0) == 16);
__device__ __forceinline__ T0 row_of(const words& p, u64 i, const list<T0>& matches) {
  const i32 v1 = ((const i32* __restrict__)p.w[0])[i];
  double v3;
  v3 = double{};
  for (u64 j2 = 0; j2 < matches.size; ++j2) {
    const double v4 = matches.at[j2].f1;
    v3 = add<double>(v3, v4);
  }
  const double v5 = v3;
  T0 v6;
  v6.f0 = v1;
  v6.f1 = v5;
  return v6;
}
extern "C" __global__ void __launch_bounds__(256) join_lists(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const u32* const groups = ((const u32*)p.w[1]);
  const u64* const offsets = ((const u64*)p.w[2]);
  const T0* const rows = ((const T0*)p.w[3]);
  write_rows<256>(p.w[4], ((T0*)p.w[5]), [&](u64 i) -> T0 {
    const u32 group = groups[i];
    return row_of(p, i, group == no_id ? list<T0>{nullptr, 0} : list<T0>{rows + offsets[group], offsets[group + 1] - offsets[group]});
  });
}
