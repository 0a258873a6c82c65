#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/atomics.cuh"
using namespace query::gpu;
struct words { u64 w[23]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
  i64 f2;
  i64 f3;
};
static_assert(sizeof(T0) == 32);
__device__ __forceinline__ u32 encode_3(const i32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ i32 decode_4(const u32& e) {
  i32 v{};
  v = (i32)((u64(e) >> 0));
  return v;
}
struct aggregates {
  struct alignas(8) State {
    double s0;
    u64 rows;
    i64 s2;
  };
  static_assert(sizeof(State) == 24);
  struct Args {
    double a0;
    i64 a2;
  };
  static_assert(sizeof(Args) == 16);
  static __device__ __forceinline__ void init(State& s) {
      s.s0 = 0;
      s.rows = 0;
      s.s2 = traits<i64>::least;
  }
  static __device__ __forceinline__ void update(State& s, const Args& a) {
      s.s0 = add<double>(s.s0, (double)a.a0);
      ++s.rows;
      if ((i64)a.a2 > s.s2) s.s2 = (i64)a.a2;
  }
  static __device__ __forceinline__ void merge(State& s, const State& o) {
      s.s0 = add<double>(s.s0, o.s0);
      s.rows += o.rows;
      if (o.s2 > s.s2) s.s2 = o.s2;
  }
  static __device__ __forceinline__ void update_atomic(State& s, const Args& a) {
      atomic_add(&s.s0, (double)a.a0);
      atomic_add(&s.rows, u64(1));
      if ((i64)a.a2 > s.s2) atomic_max(&s.s2, (i64)a.a2);
  }
  static __device__ __forceinline__ void merge_atomic(State& s, const State& o) {
      atomic_add(&s.s0, o.s0);
      atomic_add(&s.rows, o.rows);
      atomic_max(&s.s2, o.s2);
  }
};
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool group_row(const words& p, u64 i, Key& key, aggregates::Args& args) {
  const i64 v1 = ((const i64* __restrict__)p.w[0])[i];
  const bool v2 = v1 > (i64)p.w[1];
  if (!v2) return false;
  const i32 v5 = ((const i32* __restrict__)p.w[2])[i];
  key = encode_3(v5);
  const double v6 = ((const double* __restrict__)p.w[3])[i];
  const i64 v7 = ((const i64* __restrict__)p.w[0])[i];
  args.a0 = v6;
  args.a2 = v7;
  return true;
}
__device__ __forceinline__ T0 finish_group(const words& p, const i32& key, const aggregates::State& s) {
  double r0{};
  r0 = s.s0;
  i64 r1{};
  r1 = (i64)s.rows;
  i64 r2{};
  r2 = (i64)s.s2;
  T0 v8;
  v8.f0 = key;
  v8.f1 = r0;
  v8.f2 = r1;
  v8.f3 = r2;
  return v8;
}
using table = group_table<Keys, aggregates>;
using partial = group_partial<Key, aggregates::State>;
static_assert(sizeof(table::slot) == 32);
static_assert(sizeof(partial) == 32);
__device__ __forceinline__ void emit_group(const words& p, u64 at, const Key& key, const aggregates::State& s) {
  if (at >= p.w[4]) return;
  (((T0*)p.w[5]))[at] = finish_group(p, decode_4(key), s);
}
__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)p.w[6], (u32)p.w[7]}; }
__device__ __forceinline__ tiles_again the_list(const words& p) { return {((u64*)p.w[8]), ((u64*)p.w[9]), ((u32*)p.w[10])}; }
extern "C" __global__ void __launch_bounds__(256) init_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  init_groups<Keys, aggregates>(the_table(p));
}
extern "C" __global__ void __launch_bounds__(256) emit_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const u32* const left = ((const u32*)p.w[10]);
  const u64* const left_before = ((const u64*)p.w[11]);
  if ((left && *left) || (left_before && *left_before)) return;
  emit_groups<Keys, aggregates>(the_table(p), ((u64*)p.w[12]), [&](u64 at, const Key& key, const aggregates::State& s) { emit_group(p, at, key, s); });
}
extern "C" __global__ void __launch_bounds__(1024, 1) aggregate_shared_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  extern __shared__ __align__(16) unsigned char shared[];
  const shared_group_params<Keys, aggregates> g{group_rows{p.w[13], ((const u64*)p.w[14]), p.w[15]}, {(u32)p.w[16], (u32)p.w[17], (u32)p.w[18], (u32)p.w[19]}, the_table(p), the_list(p), ((partial*)p.w[20]), ((u32*)p.w[21])};
  aggregate_shared<group_copies::thread, 4>(g, Keys{}, [&](u64 i, Key& key, aggregates::Args& args) { return group_row(p, i, key, args); }, shared);
}
extern "C" __global__ void __launch_bounds__(256) merge_partials(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  merge_groups(group_rows{p.w[22], ((const u64*)p.w[14]), p.w[15]}, the_table(p), the_list(p), Keys{}, shared_partials<Key, aggregates::State>{((const partial*)p.w[20]), ((const u32*)p.w[21]), (u32)p.w[17]});
}
