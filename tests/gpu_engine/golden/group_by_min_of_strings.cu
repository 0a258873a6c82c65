#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/atomics.cuh"
using namespace query::gpu;
struct words { u64 w[20]; const u64* halt; };
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
struct alignas(8) T3 {
  i32 f0;
  u8 gap0[4];
  text f1;
  i64 f2;
};
static_assert(sizeof(T3) == 32);
__device__ __forceinline__ u32 encode_1(const i32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ i32 decode_2(const u32& e) {
  i32 v{};
  v = (i32)((u64(e) >> 0));
  return v;
}
struct aggregates {
  struct alignas(8) State {
    text s0;
    u64 n1;
    text s1;
  };
  static_assert(sizeof(State) == 40);
  struct Args {
    text a0;
    u64 at;
  };
  static_assert(sizeof(Args) == 24);
  static __device__ __forceinline__ void init(State& s) {
      s.s0 = text{nullptr, ~u64(0)};
      s.n1 = ~u64(0);
      s.s1 = text{nullptr, ~u64(0)};
  }
  static __device__ __forceinline__ void update(State& s, const Args& a) {
      if ((s.s0.size == ~u64(0) || less(a.a0, s.s0))) s.s0 = a.a0;
      { const int c = s.n1 == ~u64(0) ? -1 : compare(s.s1, a.a0); if (c < 0 || (c == 0 && a.at < s.n1)) { s.s1 = a.a0; s.n1 = a.at; } }
  }
  static __device__ __forceinline__ void merge(State& s, const State& o) {
      if (o.s0.size != ~u64(0) && (s.s0.size == ~u64(0) || less(o.s0, s.s0))) s.s0 = o.s0;
      if (o.n1 != ~u64(0)) { const int c = s.n1 == ~u64(0) ? -1 : compare(s.s1, o.s1); if (c < 0 || (c == 0 && o.n1 < s.n1)) { s.s1 = o.s1; s.n1 = o.n1; } }
  }
};
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool group_row(const words& p, u64 i, Key& key, aggregates::Args& args) {
  const i32 v3 = ((const i32* __restrict__)p.w[0])[i];
  key = encode_1(v3);
  const text v4 = ((const text* __restrict__)p.w[1])[i];
  args.a0 = v4;
  args.at = i;
  return true;
}
__device__ __forceinline__ bool rows_5(const words& p, u64 i, T2& out) {
  out = T2{.f0 = ((const i32* __restrict__)p.w[0])[i], .f1 = ((const double* __restrict__)p.w[2])[i], .f2 = ((const i64* __restrict__)p.w[3])[i], .f3 = ((const T0* __restrict__)p.w[4])[i], .f4 = ((const T1* __restrict__)p.w[5])[i], .f5 = ((const text* __restrict__)p.w[1])[i]};
  return true;
}
__device__ __forceinline__ T3 finish_group(const words& p, const i32& key, const aggregates::State& s) {
  text r0{};
  if (s.s0.size != ~u64(0)) r0 = s.s0;
  T2 r1{};
  T2 row1{};
  if (s.n1 != ~u64(0)) rows_5(p, s.n1, row1);
  r1 = row1;
  T3 v6;
  v6.f0 = key;
  v6.f1 = r0;
  v6.f2 = r1.f2;
  return v6;
}
using table = group_table<Keys, aggregates>;
using partial = group_partial<Key, aggregates::State>;
static_assert(sizeof(table::slot) == 64);
static_assert(sizeof(partial) == 48);
__device__ __forceinline__ void emit_group(const words& p, u64 at, const Key& key, const aggregates::State& s) {
  if (at >= p.w[6]) return;
  (((T3*)p.w[7]))[at] = finish_group(p, decode_2(key), s);
}
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[8], (u32)p.w[9]}; }
__device__ __forceinline__ tiles_again the_list(const words& p) { return {((u64*)p.w[10]), ((u64*)p.w[11]), ((u32*)p.w[12])}; }
extern "C" __global__ void __launch_bounds__(256) init_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  init_groups<Keys, aggregates>(the_table(p));
}
extern "C" __global__ void __launch_bounds__(256) emit_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const u32* const left = ((const u32*)p.w[12]);
  const u64* const left_before = ((const u64*)p.w[13]);
  if ((left && *left) || (left_before && *left_before)) return;
  emit_groups<Keys, aggregates>(the_table(p), ((u64*)p.w[14]), [&](u64 at, const Key& key, const aggregates::State& s) { emit_group(p, at, key, s); });
}
extern "C" __global__ void __launch_bounds__(256) grow_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  grow_groups<Keys, aggregates>(the_table(p), table{(table::slot*)p.w[15], (u32)p.w[16]}, ((u32*)p.w[12]), Keys{});
}
extern "C" __global__ void __launch_bounds__(256) aggregate_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  aggregate_global<4>(group_rows{p.w[17], ((const u64*)p.w[18]), p.w[19]}, the_table(p), the_list(p), Keys{}, [&](u64 i, Key& key, aggregates::Args& args) { return group_row(p, i, key, args); });
}
