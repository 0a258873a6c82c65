#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/sampled_bound.cuh"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/sort_keys.cuh"
using namespace query::gpu;
struct words { u64 w[19]; const u64* halt; };
struct alignas(4) T0 {
  i32 v;
  bool has;
};
static_assert(sizeof(T0) == 8);
struct alignas(4) T1 {
  float a[4];
};
static_assert(sizeof(T1) == 16);
struct alignas(8) T2 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
  T0 f3;
  T1 f4;
  text f5;
};
static_assert(sizeof(T2) == 64);
__device__ __forceinline__ bool first_word(const words& p, u64 i, u64& word) {
  word = 0;
  const i64 v1 = ((const i64* __restrict__)p.w[0])[i];
  const bool v2 = v1 > (i64)p.w[1];
  if (!v2) return false;
  const T0 v3 = ((const T0* __restrict__)p.w[2])[i];
  const T0 key_0 = v3;
  {
    const auto& v = key_0;
    word = u64(u32(null_key(v.has, false)));
  }
  {
    const auto& v = key_0;
    word = word << 32 | u64((v.has ? u32(descending_key(sort_key(v.v))) : u32(0)));
  }
  return true;
}
__device__ __forceinline__ bool rows_6(const words& p, u64 i, T2& out) {
  const i64 v4 = ((const i64* __restrict__)p.w[0])[i];
  const bool v5 = v4 > (i64)p.w[3];
  if (!v5) return false;
  out = T2{.f0 = ((const i32* __restrict__)p.w[4])[i], .f1 = ((const double* __restrict__)p.w[5])[i], .f2 = ((const i64* __restrict__)p.w[0])[i], .f3 = ((const T0* __restrict__)p.w[2])[i], .f4 = ((const T1* __restrict__)p.w[6])[i], .f5 = ((const text* __restrict__)p.w[7])[i]};
  return true;
}
extern "C" __global__ void __launch_bounds__(128) sample_first(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  sample_keys(p.w[8], (u32)p.w[9], ((u64*)p.w[10]), ((u8*)p.w[11]), [&](u64 i, u64& word) { return first_word(p, i, word); });
}
extern "C" __global__ void __launch_bounds__(sampled_bound_policy::threads) bound_first(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  sampled_bound<sampled_bound_policy>(p.w[8], (u32)p.w[9], (u32)p.w[12], p.w[13] != 0, ((const u64*)p.w[10]), ((const u8*)p.w[11]), ((u64*)p.w[14]));
}
using number = u32;
using policy = compact_policy<number>;
extern "C" __global__ void __launch_bounds__(policy::threads, policy::blocks) keep_first(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T2* const out = ((T2*)p.w[15]);
  const u64 room = p.w[16];
  const u64* const bound = ((const u64*)p.w[14]);
  const u64 last_word = bound[0], last_row = bound[1];
  compact<policy, number>(p.w[8], ((void*)p.w[17]), ((u64*)p.w[18]),
    [&](u64 i, number& item) {
      item = (number)i;
      u64 word;
      return first_word(p, i, word) && (word < last_word || (word == last_word && i <= last_row));
    },
    [&](u64 at, const number& i) {
      if (at >= room) return;
      T2 row;
      rows_6(p, i, row);
      out[at] = row;
    });
}
