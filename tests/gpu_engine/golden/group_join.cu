#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/join_tiles.cuh"
#include "gpu_primitives/radix_sort.cuh"
using namespace query::gpu;
struct words { u64 w[20]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
};
static_assert(sizeof(T0) == 16);
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
extern "C" __global__ void __launch_bounds__(256) map_build(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  map_keys(p.w[4], table_of_ids<Keys>{the_table(p), ((u64*)p.w[5]), 0xfffffff0ull, ((u32*)p.w[6])}, ((u32*)p.w[7]) + p.w[8], Keys{}, [&](u64 i, Key& key) { return build_key(p, p.w[8] + i, key); }, [](u32, u64) {});
}
extern "C" __global__ void __launch_bounds__(256) find_offsets(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  offsets_of_sorted(p.w[9], ((const u32*)p.w[10]), ((u64*)p.w[11]));
}
extern "C" __global__ void __launch_bounds__(partner_threads) lookup_probe(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  find_partners(p.w[12], table_of_ids<Keys>{the_table(p), ((u64*)p.w[5]), 0xfffffff0ull, ((u32*)p.w[6])}, ((u32*)p.w[13]), (u8*)nullptr, Keys{}, [&](u64 i, Key& key) { return probe_key(p, i, key); });
}
using sort_policy = radix_policy<u32, number>;
extern "C" __global__ void __launch_bounds__(sort_policy::histogram_threads) count_groups_of_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  radix_histogram<sort_policy, 32>(p.w[9], ((void*)p.w[14]), [&](u64 i) -> u32 { return ((const u32*)p.w[7])[i]; });
}
extern "C" __global__ void __launch_bounds__(sort_policy::threads, sort_policy::blocks) sort_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) u8 shared[];
  const radix_buffers<u32, number> between{{((u32*)p.w[15]), ((u32*)p.w[10])}, {((number*)p.w[16]), ((number*)p.w[17])}};
  radix_sweep<sort_policy, 32, u32, number, number>((u32)p.w[18], p.w[9], ((void*)p.w[14]), between, shared, [&](u64 i) -> u32 { return ((const u32*)p.w[7])[i]; }, [](u64 i) { return number(i); }, [&](u64 at, u32 group) { ((u32*)p.w[10])[at] = group; }, [&](u64 at, number row) { ((number*)p.w[17])[at] = row; });
}
__device__ __forceinline__ T0 build_row_at(const words& p, u64 i) {
  return ((const T0* __restrict__)p.w[1])[i];
}
extern "C" __global__ void __launch_bounds__(256) gather_build(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  T0* const out = ((T0*)p.w[19]);
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[9]; at += gridDim.x * 256ull) out[at] = build_row_at(p, ((const number*)p.w[17])[at]);
}
