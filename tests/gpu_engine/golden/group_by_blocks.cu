#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/atomics.cuh"
#include "gpu_primitives/group_exchange.cuh"
using namespace query::gpu;
struct words { u64 w[24]; const u64* halt; };
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
struct aggregates {
  struct alignas(8) State {
    double s0;
  };
  static_assert(sizeof(State) == 8);
  struct Args {
    double a0;
  };
  static_assert(sizeof(Args) == 8);
  static __device__ __forceinline__ void init(State& s) {
      s.s0 = 0;
  }
  static __device__ __forceinline__ void update(State& s, const Args& a) {
      s.s0 = add<double>(s.s0, (double)a.a0);
  }
  static __device__ __forceinline__ void merge(State& s, const State& o) {
      s.s0 = add<double>(s.s0, o.s0);
  }
  static __device__ __forceinline__ void update_atomic(State& s, const Args& a) {
      atomic_add(&s.s0, (double)a.a0);
  }
  static __device__ __forceinline__ void merge_atomic(State& s, const State& o) {
      atomic_add(&s.s0, o.s0);
  }
};
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool group_row(const words& p, u64 i, Key& key, aggregates::Args& args) {
  const i32 v3 = ((const T0* __restrict__)p.w[0])[i].f0;
  key = encode_1(v3);
  const double v4 = ((const T0* __restrict__)p.w[0])[i].f1;
  args.a0 = v4;
  return true;
}
__device__ __forceinline__ T0 finish_group(const words& p, const i32& key, const aggregates::State& s) {
  double r0{};
  r0 = s.s0;
  T0 v5;
  v5.f0 = key;
  v5.f1 = r0;
  return v5;
}
using table = group_table<Keys, aggregates>;
using partial = group_partial<Key, aggregates::State>;
static_assert(sizeof(table::slot) == 16);
static_assert(sizeof(partial) == 16);
__device__ __forceinline__ void emit_group(const words& p, u64 at, const Key& key, const aggregates::State& s) {
  if (at >= p.w[1]) return;
  (((T0*)p.w[2]))[at] = finish_group(p, decode_2(key), s);
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
extern "C" __global__ void __launch_bounds__(256) grow_table(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  grow_groups<Keys, aggregates>(the_table(p), table{(table::slot*)p.w[10], (u32)p.w[11]}, ((u32*)p.w[7]), Keys{});
}
extern "C" __global__ void __launch_bounds__(256) aggregate_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  aggregate_global<4>(group_rows{p.w[12], ((const u64*)p.w[13]), p.w[14]}, the_table(p), the_list(p), Keys{}, [&](u64 i, Key& key, aggregates::Args& args) { return group_row(p, i, key, args); });
}
extern "C" __global__ void __launch_bounds__(256) spill_groups(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  partial* const out = ((partial*)p.w[15]);
  u32* const place = ((u32*)p.w[16]);
  emit_groups<Keys, aggregates>(the_table(p), ((u64*)p.w[9]), [&](u64 at, const Key& key, const aggregates::State& s) {
    if (at >= p.w[1]) return;
    partial x;
    x.key = key;
    x.state = s;
    out[at] = x;
    place[at] = u32(mix64(Keys{}.hash(key) + p.w[17]) >> 32) % 256u;
  }, p.w[18], p.w[19]);
}
extern "C" __global__ void __launch_bounds__(256) pair_groups(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  partial* const out = ((partial*)p.w[15]);
  emit_groups<Keys, aggregates>(the_table(p), ((u64*)p.w[9]), [&](u64 at, const Key& key, const aggregates::State& s) {
    if (at >= p.w[1]) return;
    partial x;
    x.key = key;
    x.state = s;
    out[at] = x;
  });
}
extern "C" __global__ void __launch_bounds__(256) count_pairs_of_parts(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  count_pairs<Keys, aggregates::State>(((const partial*)p.w[15]), p.w[20], (u32)p.w[21], ((u64*)p.w[22]), Keys{});
}
extern "C" __global__ void __launch_bounds__(256) scatter_pairs_to_parts(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  scatter_pairs<Keys, aggregates::State>(((const partial*)p.w[15]), p.w[20], (u32)p.w[21], ((const u64*)p.w[22]), ((u64*)p.w[23]), ((partial*)p.w[2]), Keys{});
}
extern "C" __global__ void __launch_bounds__(256) merge_partials(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  merge_groups(group_rows{p.w[20], ((const u64*)p.w[13]), p.w[14]}, the_table(p), the_list(p), Keys{}, plain_partials<Key, aggregates::State>{((const partial*)p.w[15])});
}
