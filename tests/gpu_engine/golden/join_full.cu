#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/hash_keys.cuh"
using namespace query::gpu;
struct words { u64 w[18]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
};
static_assert(sizeof(T0) == 16);
struct alignas(8) T1 {
  T0 v;
  bool has;
};
static_assert(sizeof(T1) == 24);
__device__ __forceinline__ u32 encode_1(const i32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ i32 decode_2(const u32& e) {
  i32 v{};
  v = (i32)((u64(e) >> 0));
  return v;
}
__device__ __forceinline__ i32 probe_key_value(const words& p, u64 i) {
  const i32 v3 = ((const T0* __restrict__)p.w[0])[i].f0;
  return v3;
}
__device__ __forceinline__ i32 build_key_value(const words& p, u64 i) {
  const i32 v4 = ((const T0* __restrict__)p.w[1])[i].f0;
  return v4;
}
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool probe_key(const words& p, u64 i, Key& key) {
  const i32 v = probe_key_value(p, i);
  key = encode_1(v);
  return true;
}
__device__ __forceinline__ bool build_key(const words& p, u64 i, Key& key) {
  const i32 v = build_key_value(p, i);
  key = encode_1(v);
  return true;
}
using number = u32;
using payload = u32;
using table = hash_table_ref<Keys, payload>;
static_assert(sizeof(table::slot) == 8);
struct no_args {};
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[2], (u32)p.w[3]}; }
__device__ __forceinline__ double pair_of(const words& p, u64 a, u64 b) {
  T1 left{};
  left.has = a != no_row;
  if (left.has) left.v = ((const T0* __restrict__)p.w[0])[a];
  T1 right{};
  right.has = b != no_row;
  if (right.has) right.v = ((const T0* __restrict__)p.w[1])[b];
  double v5;
  if (left.has) {
    double v6;
    if (right.has) {
      if (!left.has) fail(((u64*)p.w[4]), empty_optional, 0);
      if (!right.has) fail(((u64*)p.w[4]), empty_optional, 0);
      const double v7 = add<double>(left.v.f1, right.v.f1);
      v6 = v7;
    }
    else {
      if (!left.has) fail(((u64*)p.w[4]), empty_optional, 0);
      const double v8 = add<double>(left.v.f1, bits_f64(p.w[5]));
      v6 = v8;
    }
    v5 = v6;
  }
  else {
    const double v9 = add<double>(bits_f64(p.w[6]), bits_f64(p.w[5]));
    double v10;
    if (right.has) {
      if (!right.has) fail(((u64*)p.w[4]), empty_optional, 0);
      const double v11 = add<double>(bits_f64(p.w[6]), right.v.f1);
      v10 = v11;
    }
    else {
      v10 = v9;
    }
    v5 = v10;
  }
  return v5;
}
__device__ __forceinline__ double joined(const words& p, u64 probe_row, u64 build_row) { return pair_of(p, probe_row, build_row); }
extern "C" __global__ void __launch_bounds__(256) build_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  build_unique<4>(p.w[7], the_table(p), ((u32*)p.w[8]), Keys{}, [&](u64 i, Key& key, payload& row) { row = payload(i); return build_key(p, i, key); });
}
extern "C" __global__ void __launch_bounds__(512, 2) probe_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[9]);
  probe_unique_pipelined<query::gpu::join_kind::left, 512, 2, no_args>(p.w[10], the_table(p), ordered_append{((u64*)p.w[11]), ((u64*)p.w[12]), ((u64*)p.w[13])}, nullptr, Keys{},
    [&](u64 i, Key& key, no_args& h) { return probe_key(p, i, key) ? probe_state::keyed : probe_state::keyless; },
    [&](u64 at, u64 probe_row, const Key&, const no_args& h, bool found, payload partner) { if (found) ((u8*)p.w[14])[partner] = 1; out[at] = joined(p, probe_row, found ? u64(partner) : no_row); });
}
extern "C" __global__ void __launch_bounds__(compact_policy<u64>::threads, compact_policy<u64>::blocks) add_unmatched(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[9]) + *((const u64*)p.w[13]);
  compact<compact_policy<u64>, u64>(p.w[15], ((void*)p.w[16]), ((u64*)p.w[17]),
    [&](u64 i, u64& row) { row = i; return ((const u8*)p.w[14])[i] == 0; },
    [&](u64 at, const u64& row) { out[at] = joined(p, no_row, row); });
}
