#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/distinct.cuh"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/hash_keys.cuh"
using namespace query::gpu;
struct words { u64 w[15]; const u64* halt; };
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
  i64 f1;
};
static_assert(sizeof(T2) == 16);
struct alignas(8) T3 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
  T0 f3;
  T1 f4;
  text f5;
};
static_assert(sizeof(T3) == 64);
__device__ __forceinline__ query::gpu::detail::two_words encode_1(const T2& v) {
  return query::gpu::detail::two_words{u64(v.f1) << 0, u64(u32(v.f0)) << 0};
}
__device__ __forceinline__ T2 decode_2(const query::gpu::detail::two_words& e) {
  T2 v{};
  v.f0 = (i32)((e.high >> 0));
  v.f1 = (i64)((e.low >> 0));
  return v;
}
__device__ __forceinline__ T2 first_key_value(const words& p, u64 i) {
  const i32 v3 = ((const i32* __restrict__)p.w[0])[i];
  const i64 v4 = ((const i64* __restrict__)p.w[1])[i];
  T2 v5;
  v5.f0 = v3;
  v5.f1 = v4;
  return v5;
}
using Keys = bitwise_keys<query::gpu::detail::two_words>;
using Key = Keys::key_type;
__device__ __forceinline__ bool first_key(const words& p, u64 i, Key& key) {
  const T2 v = first_key_value(p, i);
  key = encode_1(v);
  return true;
}
using table = hash_table_ref<Keys, u32>;
static_assert(sizeof(table::slot) == 32);
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[2], (u32)p.w[3]}; }
extern "C" __global__ void __launch_bounds__(256) first_rows_of_keys(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  query::gpu::first_rows(p.w[4], 0, the_table(p), ((u32*)p.w[5]), Keys{}, [&](u64 i, Key& key) { return first_key(p, i, key); });
}
extern "C" __global__ void __launch_bounds__(256) flag_first_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  flag_rows(the_table(p), (const u8*)nullptr, true, ((u8*)p.w[6]), ((u64*)p.w[7]));
}
extern "C" __global__ void __launch_bounds__(compact_policy<u64>::threads, compact_policy<u64>::blocks) keep_flagged(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T3* const out = ((T3*)p.w[8]);
  compact<compact_policy<u64>, u64>(p.w[4], ((void*)p.w[9]), ((u64*)p.w[10]),
    [&](u64 i, u64& row) { row = i; return ((const u8*)p.w[6])[i] != 0; },
    [&](u64 at, const u64& i) {
    out[at] = T3{.f0 = ((const i32* __restrict__)p.w[0])[i], .f1 = ((const double* __restrict__)p.w[11])[i], .f2 = ((const i64* __restrict__)p.w[1])[i], .f3 = ((const T0* __restrict__)p.w[12])[i], .f4 = ((const T1* __restrict__)p.w[13])[i], .f5 = ((const text* __restrict__)p.w[14])[i]};
  });
}
