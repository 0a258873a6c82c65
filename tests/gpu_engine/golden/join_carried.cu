#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/hash_keys.cuh"
using namespace query::gpu;
struct words { u64 w[12]; const u64* halt; };
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
using payload = u64;
using table = hash_table_ref<Keys, payload>;
static_assert(sizeof(table::slot) == 16);
struct no_args {};
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[2], (u32)p.w[3]}; }
struct held_fields {
  double f0;
};
__device__ __forceinline__ void hold(const words& p, u64 i, held_fields& h) {
  h.f0 = ((const double* __restrict__)p.w[4])[i];
}
__device__ __forceinline__ double pair_of(const words& p, u64 a, u64 b, const held_fields& h) {
  const double v6 = held<double>{h.f0}[0];
  const double v7 = carried<double>{b}[0];
  const double v8 = mul<double>(v6, v7);
  return v8;
}
__device__ __forceinline__ double joined(const words& p, u64 probe_row, u64 build_row, const held_fields& h) { return pair_of(p, probe_row, build_row, h); }
extern "C" __global__ void __launch_bounds__(256) build_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  build_unique<4>(p.w[5], the_table(p), ((u32*)p.w[6]), Keys{}, [&](u64 i, Key& key, payload& row) { row = payload(carried<double>::bits(((const T2* __restrict__)p.w[1])[i].f1)); return build_key(p, i, key); });
}
extern "C" __global__ void __launch_bounds__(512, 2) probe_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[7]);
  probe_unique_pipelined<query::gpu::join_kind::inner, 512, 2, held_fields>(p.w[8], the_table(p), ordered_append{((u64*)p.w[9]), ((u64*)p.w[10]), ((u64*)p.w[11])}, nullptr, Keys{},
    [&](u64 i, Key& key, held_fields& h) { hold(p, i, h); return probe_key(p, i, key) ? probe_state::keyed : probe_state::keyless; },
    [&](u64 at, u64 probe_row, const Key&, const held_fields& h, bool found, payload partner) { out[at] = joined(p, probe_row, found ? u64(partner) : no_row, h); });
}
