#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/hash_keys.cuh"
using namespace query::gpu;
struct words { u64 w[14]; const u64* halt; };
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
};
static_assert(sizeof(T2) == 16);
struct alignas(8) T3 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
};
static_assert(sizeof(T3) == 24);
struct alignas(8) T4 {
  T2 v;
  bool has;
};
static_assert(sizeof(T4) == 24);
__device__ __forceinline__ u64 encode_1(const i64& v) {
  return u64(u64(v) << 0);
}
__device__ __forceinline__ i64 decode_2(const u64& e) {
  i64 v{};
  v = (i64)((u64(e) >> 0));
  return v;
}
__device__ __forceinline__ i64 probe_key_value(const words& p, u64 i) {
  const i64 v3 = ((const i64* __restrict__)p.w[0])[i];
  return v3;
}
__device__ __forceinline__ i64 build_key_value(const words& p, u64 i) {
  const i32 v4 = ((const T2* __restrict__)p.w[1])[i].f0;
  const i64 v5 = convert<i64>(v4);
  return v5;
}
using Keys = bitwise_keys<u64>;
using Key = Keys::key_type;
__device__ __forceinline__ bool probe_key(const words& p, u64 i, Key& key) {
  const i64 v = probe_key_value(p, i);
  key = encode_1(v);
  return true;
}
__device__ __forceinline__ bool build_key(const words& p, u64 i, Key& key) {
  const i64 v = build_key_value(p, i);
  key = encode_1(v);
  return true;
}
using number = u32;
using payload = u32;
using table = hash_table_ref<Keys, payload>;
static_assert(sizeof(table::slot) == 16);
struct no_args {};
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[2], (u32)p.w[3]}; }
struct held_fields {
  i32 f0;
  i64 f1;
};
__device__ __forceinline__ void hold(const words& p, u64 i, held_fields& h) {
  h.f0 = ((const i32* __restrict__)p.w[4])[i];
  h.f1 = ((const i64* __restrict__)p.w[0])[i];
}
__device__ __forceinline__ T3 pair_of(const words& p, u64 a, u64 b, const held_fields& h) {
  T4 right{};
  right.has = b != no_row;
  if (right.has) right.v = ((const T2* __restrict__)p.w[1])[b];
  const i32 v6 = held<i32>{h.f0}[0];
  const i64 v7 = held<i64>{h.f1}[0];
  T3 v8;
  v8.f0 = v6;
  v8.f1 = bits_f64(p.w[5]);
  v8.f2 = v7;
  T3 v9;
  if (right.has) {
    if (!right.has) fail(((u64*)p.w[6]), empty_optional, 0);
    T3 v10;
    v10.f0 = v6;
    v10.f1 = right.v.f1;
    v10.f2 = v7;
    v9 = v10;
  }
  else {
    v9 = v8;
  }
  return v9;
}
__device__ __forceinline__ T3 joined(const words& p, u64 probe_row, u64 build_row, const held_fields& h) { return pair_of(p, probe_row, build_row, h); }
extern "C" __global__ void __launch_bounds__(256) build_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  build_unique<4>(p.w[7], the_table(p), ((u32*)p.w[8]), Keys{}, [&](u64 i, Key& key, payload& row) { row = payload(i); return build_key(p, i, key); });
}
extern "C" __global__ void __launch_bounds__(512, 2) probe_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T3* const out = ((T3*)p.w[9]);
  auto make = [&](u64, u64 probe_row, const Key&, const held_fields& h, bool found, payload partner) { return joined(p, probe_row, found ? u64(partner) : no_row, h); };
  probe_unique_pipelined<query::gpu::join_kind::left, 512, 2, held_fields>(p.w[10], the_table(p), ordered_append{((u64*)p.w[11]), ((u64*)p.w[12]), ((u64*)p.w[13])}, nullptr, Keys{},
    [&](u64 i, Key& key, held_fields& h) { hold(p, i, h); return probe_key(p, i, key) ? probe_state::keyed : probe_state::keyless; },
    whole_warp_rows<T3, 512, decltype(make)>{out, make});
}
