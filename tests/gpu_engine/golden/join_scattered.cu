#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/group_partition.cuh"
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
__device__ __forceinline__ partition_places the_places(const words& p) {
  return {(u32)p.w[4], join_partition_shift((u32)p.w[4]), 1ull << 20, ((u64*)p.w[5]), ((u64*)p.w[6]), ((u64*)p.w[7]), ((u64*)p.w[8])};
}
extern "C" __global__ void __launch_bounds__(512, 2) count_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) unsigned char shared[];
  count_partitions<8, payload>(p.w[9], the_places(p), Keys{}, [&](u64 i, Key& key, payload& row) { row = payload(carried<double>::bits(((const T2* __restrict__)p.w[1])[i].f1)); return build_key(p, i, key); }, shared);
}
extern "C" __global__ void __launch_bounds__(1024) plan_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  plan_partitions(the_places(p));
}
extern "C" __global__ void __launch_bounds__(1024, 1) scatter_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) unsigned char shared[];
  scatter_partitions<8>(p.w[9], the_places(p), ((Key*)p.w[10]), ((payload*)p.w[11]), Keys{}, [&](u64 i, Key& key, payload& row) { row = payload(carried<double>::bits(((const T2* __restrict__)p.w[1])[i].f1)); return build_key(p, i, key); }, shared);
}
extern "C" __global__ void __launch_bounds__(256) build_scattered(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const Key* const keys = ((Key*)p.w[10]);
  const payload* const payloads = ((payload*)p.w[11]);
  build_unique<2>(((const u64*)p.w[6])[1ull << p.w[4]], the_table(p), ((u32*)p.w[12]), Keys{}, [&](u64 i, Key& key, payload& row) { key = __ldcs(keys + i); row = __ldcs(payloads + i); return true; });
}
