#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/atomics.cuh"
using namespace query::gpu;
struct words { u64 w[20]; const u64* halt; };
__device__ __forceinline__ u32 encode_1(const u32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ u32 decode_2(const u32& e) {
  u32 v{};
  v = (u32)((u64(e) >> 0));
  return v;
}
struct aggregates {
  struct alignas(8) State {
    u64 rows;
  };
  static_assert(sizeof(State) == 8);
  struct Args {
  };
  static __device__ __forceinline__ void init(State& s) {
      s.rows = 0;
  }
  static __device__ __forceinline__ void update(State& s, const Args& a) {
      ++s.rows;
  }
  static __device__ __forceinline__ void merge(State& s, const State& o) {
      s.rows += o.rows;
  }
  static __device__ __forceinline__ void update_atomic(State& s, const Args& a) {
      atomic_add(&s.rows, u64(1));
  }
  static __device__ __forceinline__ void merge_atomic(State& s, const State& o) {
      atomic_add(&s.rows, o.rows);
  }
};
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool group_row(const words& p, u64 i, Key& key, aggregates::Args& args) {
  const u32 v3 = numbers_from<u32>{p.w[0]}[i];
  const u32 v4 = shr<u32>(v3, ((u32)3ull));
  key = encode_1(v4);
  return true;
}
using table = group_table<Keys, aggregates>;
using partial = group_partial<Key, aggregates::State>;
static_assert(sizeof(table::slot) == 16);
static_assert(sizeof(partial) == 16);
__device__ __forceinline__ void emit_group(const words& p, u64 at, const Key& key, const aggregates::State& s) {
  if (at >= p.w[1]) return;
  partial x;
  x.key = key;
  x.state = s;
  (((partial*)p.w[2]))[at] = x;
}
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[3], (u32)p.w[4]}; }
__device__ __forceinline__ tiles_again the_list(const words& p) { return {((u64*)p.w[5]), ((u64*)p.w[6]), ((u32*)p.w[7])}; }
extern "C" __global__ void __launch_bounds__(256) init_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  init_groups<Keys, aggregates>(the_table(p));
}
extern "C" __global__ void __launch_bounds__(256) emit_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const u32* const left = ((const u32*)p.w[7]);
  const u64* const left_before = ((const u64*)p.w[8]);
  if ((left && *left) || (left_before && *left_before)) return;
  emit_groups<Keys, aggregates>(the_table(p), ((u64*)p.w[9]), [&](u64 at, const Key& key, const aggregates::State& s) { emit_group(p, at, key, s); });
}
extern "C" __global__ void __launch_bounds__(1024, 1) aggregate_shared_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) unsigned char shared[];
  const shared_group_params<Keys, aggregates> g{group_rows{p.w[10], ((const u64*)p.w[11]), p.w[12]}, {(u32)p.w[13], (u32)p.w[14], (u32)p.w[15], (u32)p.w[16]}, the_table(p), the_list(p), ((partial*)p.w[17]), ((u32*)p.w[18])};
  aggregate_shared<group_copies::thread, 4>(g, Keys{}, [&](u64 i, Key& key, aggregates::Args& args) { return group_row(p, i, key, args); }, shared);
}
extern "C" __global__ void __launch_bounds__(256) merge_partials(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  merge_groups(group_rows{p.w[19], ((const u64*)p.w[11]), p.w[12]}, the_table(p), the_list(p), Keys{}, shared_partials<Key, aggregates::State>{((const partial*)p.w[17]), ((const u32*)p.w[18]), (u32)p.w[14]});
}
