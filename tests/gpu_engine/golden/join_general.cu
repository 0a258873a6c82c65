#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/join_tiles.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/scan.cuh"
using namespace query::gpu;
struct words { u64 w[26]; const u64* halt; };
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
extern "C" __global__ void __launch_bounds__(256) map_build(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  map_keys(p.w[5], table_of_ids<Keys>{the_table(p), ((u64*)p.w[6]), 0xfffffff0ull, ((u32*)p.w[7])}, ((u32*)p.w[8]) + p.w[9], Keys{}, [&](u64 i, Key& key) { return build_key(p, p.w[9] + i, key); }, [](u32, u64) {});
}
extern "C" __global__ void __launch_bounds__(256) find_offsets(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  offsets_of_sorted(p.w[10], ((const u32*)p.w[11]), ((u64*)p.w[12]));
}
extern "C" __global__ void __launch_bounds__(partner_threads) lookup_probe(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  find_partners(p.w[13], table_of_ids<Keys>{the_table(p), ((u64*)p.w[6]), 0xfffffff0ull, ((u32*)p.w[7])}, ((u32*)p.w[14]), (u8*)nullptr, Keys{}, [&](u64 i, Key& key) { return probe_key(p, i, key); });
}
using sort_policy = radix_policy<u32, number>;
extern "C" __global__ void __launch_bounds__(sort_policy::histogram_threads) count_groups_of_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  radix_histogram<sort_policy, 32>(p.w[10], ((void*)p.w[15]), [&](u64 i) -> u32 { return ((const u32*)p.w[8])[i]; });
}
extern "C" __global__ void __launch_bounds__(sort_policy::threads, sort_policy::blocks) sort_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) u8 shared[];
  const radix_buffers<u32, number> between{{((u32*)p.w[16]), ((u32*)p.w[11])}, {((number*)p.w[17]), ((number*)p.w[18])}};
  radix_sweep<sort_policy, 32, u32, number, number>((u32)p.w[19], p.w[10], ((void*)p.w[15]), between, shared, [&](u64 i) -> u32 { return ((const u32*)p.w[8])[i]; }, [](u64 i) { return number(i); }, [&](u64 at, u32 group) { ((u32*)p.w[11])[at] = group; }, [&](u64 at, number row) { ((number*)p.w[18])[at] = row; });
}
extern "C" __global__ void __launch_bounds__(partner_threads) count_output(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  count_partners<query::gpu::join_kind::inner>(match_source{p.w[13], ((const u32*)p.w[14]), nullptr, ((const u64*)p.w[12])}, ((u64*)p.w[20]));
}
extern "C" __global__ void __launch_bounds__(scan_policy<u64>::threads, scan_policy<u64>::blocks) scan_output(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  u64* const starts = ((u64*)p.w[21]);
  exclusive_scan<scan_policy<u64>, u64>(p.w[22], ((void*)p.w[23]), u64(0), [&](u64 i) { return ((const u64*)p.w[20])[i]; }, [](u64 a, u64 b) { return a + b; }, [&](u64 i, u64 before) { starts[i] = before; }, [&](u64 all) { starts[p.w[22]] = all; *((u64*)p.w[24]) = all; });
}
extern "C" __global__ void __launch_bounds__(partner_threads) expand_output(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  double* const out = ((double*)p.w[25]);
  expand_partners<query::gpu::join_kind::inner>(match_source{p.w[13], ((const u32*)p.w[14]), nullptr, ((const u64*)p.w[12])}, ((const u64*)p.w[21]), ((const number*)p.w[18]),
    [&](u64 at, u64 probe_row, u64 build_row) { out[at] = joined(p, probe_row, build_row); });
}
