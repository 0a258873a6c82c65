#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/distinct.cuh"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/hash_keys.cuh"
using namespace query::gpu;
struct words { u64 w[13]; const u64* halt; };
__device__ __forceinline__ u32 encode_1(const i32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ i32 decode_2(const u32& e) {
  i32 v{};
  v = (i32)((u64(e) >> 0));
  return v;
}
__device__ __forceinline__ i32 first_key_value(const words& p, u64 i) {
  const i32 v3 = ((const i32* __restrict__)p.w[0])[i];
  return v3;
}
__device__ __forceinline__ i32 second_key_value(const words& p, u64 i) {
  const i32 v4 = ((const i32* __restrict__)p.w[1])[i];
  return v4;
}
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool first_key(const words& p, u64 i, Key& key) {
  const i32 v = first_key_value(p, i);
  key = encode_1(v);
  return true;
}
__device__ __forceinline__ bool second_key(const words& p, u64 i, Key& key) {
  const i32 v = second_key_value(p, i);
  key = encode_1(v);
  return true;
}
using table = hash_table_ref<Keys, u32>;
static_assert(sizeof(table::slot) == 8);
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[2], (u32)p.w[3]}; }
extern "C" __global__ void __launch_bounds__(256) first_rows_of_keys(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  query::gpu::first_rows(p.w[4], 0, the_table(p), ((u32*)p.w[5]), Keys{}, [&](u64 i, Key& key) { return first_key(p, i, key); });
}
extern "C" __global__ void __launch_bounds__(256) mark_keys(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  present_keys(p.w[6], the_table(p), ((u8*)p.w[7]), Keys{}, [&](u64 i, Key& key) { return second_key(p, i, key); });
}
extern "C" __global__ void __launch_bounds__(256) flag_first_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  flag_rows(the_table(p), ((const u8*)p.w[7]), true, ((u8*)p.w[8]), ((u64*)p.w[9]));
}
extern "C" __global__ void __launch_bounds__(compact_policy<u64>::threads, compact_policy<u64>::blocks) keep_flagged(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  i32* const out = ((i32*)p.w[10]);
  compact<compact_policy<u64>, u64>(p.w[4], ((void*)p.w[11]), ((u64*)p.w[12]),
    [&](u64 i, u64& row) { row = i; return ((const u8*)p.w[8])[i] != 0; },
    [&](u64 at, const u64& i) {
    out[at] = ((const i32* __restrict__)p.w[0])[i];
  });
}
