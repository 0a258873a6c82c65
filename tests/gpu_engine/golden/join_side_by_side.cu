#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/join_tiles.cuh"
using namespace query::gpu;
struct words { u64 w[13]; const u64* halt; };
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
__device__ __forceinline__ u32 encode_1(const i32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ i32 decode_2(const u32& e) {
  i32 v{};
  v = (i32)((u64(e) >> 0));
  return v;
}
__device__ __forceinline__ i32 probe_key_value(const words& p, u64 i) {
  const i32 v3 = ((const i32* __restrict__)p.w[0])[i];
  return v3;
}
__device__ __forceinline__ i32 build_key_value(const words& p, u64 i) {
  const i32 v4 = ((const T2* __restrict__)p.w[1])[i].f0;
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
  const double v5 = ((const double* __restrict__)p.w[4])[a];
  const double v6 = ((const T2* __restrict__)p.w[1])[b].f1;
  const double v7 = mul<double>(v5, v6);
  return v7;
}
__device__ __forceinline__ double joined(const words& p, u64 probe_row, u64 build_row) { return pair_of(p, probe_row, build_row); }
extern "C" __global__ void __launch_bounds__(256) gather_columns(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  u8* to = ((u8*)p.w[5]);
  const number* const rows = ((const number*)p.w[6]);
  {
    const T2* const from = ((const T2*)p.w[1]);
    for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[7]; at += gridDim.x * 256ull) ((T2*)to)[at] = from[rows[at]];
    to += (p.w[7] * sizeof(T2) + 255) / 256 * 256;
  }
}
extern "C" __global__ void __launch_bounds__(partner_threads) expand_output(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[8]);
  expand_partners<query::gpu::join_kind::inner>(match_source{p.w[9], ((const u32*)p.w[10]), nullptr, ((const u64*)p.w[11])}, ((const u64*)p.w[12]), positions_in_groups{},
    [&](u64 at, u64 probe_row, u64 build_row) { out[at] = joined(p, probe_row, build_row); });
}
