#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/segments.cuh"
#include "gpu_primitives/grouper.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/sort_keys.cuh"
#include "gpu_primitives/atomics.cuh"
using namespace query::gpu;
struct words { u64 w[28]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  double f1;
};
static_assert(sizeof(T0) == 16);
struct alignas(8) T1 {
  double f0;
  double f1;
};
static_assert(sizeof(T1) == 16);
struct alignas(8) T2 {
  T1 f1;
  i32 f0;
  u8 gap0[4];
};
static_assert(sizeof(T2) == 24);
__device__ __forceinline__ u32 encode_1(const i32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ i32 decode_2(const u32& e) {
  i32 v{};
  v = (i32)((u64(e) >> 0));
  return v;
}
__device__ __forceinline__ i32 key_of_group_value(const words& p, u64 i) {
  const i32 v3 = ((const T0* __restrict__)p.w[0])[i].f0;
  return v3;
}
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool key_of_group(const words& p, u64 i, Key& key) {
  const i32 v = key_of_group_value(p, i);
  key = encode_1(v);
  return true;
}
using table = hash_table_ref<Keys, u32>;
static_assert(sizeof(table::slot) == 8);
extern "C" __global__ void __launch_bounds__(256) map_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  map_keys(p.w[1], table_of_ids<Keys>{table{(table::slot*)p.w[2], (u32)p.w[3]}, ((u64*)p.w[4]), p.w[5], ((u32*)p.w[6])}, ((u32*)p.w[7]), Keys{}, [&](u64 i, Key& key) { return key_of_group(p, i, key); }, [&](u32 id, u64 i) { key_of_group(p, i, (((Key*)p.w[8]))[id]); });
}
struct aggregates {
  struct alignas(8) State {
    T1 s0;
    u64 first_row;
  };
  static_assert(sizeof(State) == 24);
  struct Args {
    u64 at;
  };
  static_assert(sizeof(Args) == 8);
  static __device__ __forceinline__ void init(const words& p, State& s) {
      {
  T1 v4;
  v4.f0 = bits_f64(p.w[9]);
  v4.f1 = bits_f64(p.w[9]);
      const T1 next = v4;
      s.s0 = next;
      }
      s.first_row = ~u64(0);
  }
  static __device__ __forceinline__ void update(const words& p, State& s, const Args& a) {
      {
  const double v5 = ((const T0* __restrict__)p.w[0])[a.at].f1;
  const double v6 = s.s0.f0;
  const bool v7 = v5 < v6;
  const double v8 = s.s0.f1;
  const bool v9 = v5 > v8;
  T1 v10;
  v10.f0 = v5;
  v10.f1 = v5;
  T1 v11;
  v11.f0 = v5;
  v11.f1 = v8;
  const T1 v12 = v9 ? v10 : v11;
  T1 v13;
  v13.f0 = v6;
  v13.f1 = v5;
  const T1 v14 = v9 ? v13 : s.s0;
  const T1 v15 = v7 ? v12 : v14;
      const T1 next = v15;
      s.s0 = next;
      }
      if (a.at < s.first_row) s.first_row = a.at;
  }
  static __device__ __forceinline__ void merge(const words& p, State& s, const State& o) {
      {
  const double v16 = o.s0.f0;
  const double v17 = s.s0.f0;
  const bool v18 = v16 < v17;
  const double v19 = o.s0.f1;
  const double v20 = s.s0.f1;
  const bool v21 = v19 > v20;
  T1 v22;
  v22.f0 = v16;
  v22.f1 = v20;
  const T1 v23 = v21 ? o.s0 : v22;
  T1 v24;
  v24.f0 = v17;
  v24.f1 = v19;
  const T1 v25 = v21 ? v24 : s.s0;
  const T1 v26 = v18 ? v23 : v25;
      const T1 next = v26;
      s.s0 = next;
      }
      if (o.first_row < s.first_row) s.first_row = o.first_row;
  }
};
__device__ __forceinline__ bool row_at(const words& p, u64 i, u64 place, bool first, aggregates::Args& args) {
  args.at = i;
  return true;
}
__device__ __forceinline__ T2 finish_group(const words& p, const i32& key, const aggregates::State& s) {
  T1 r0{};
  r0 = s.s0;
  T2 v27;
  v27.f0 = key;
  v27.f1 = r0;
  return v27;
}
extern "C" __global__ void __launch_bounds__(256) number_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[1]; at += gridDim.x * 256ull) {
    ((u64*)p.w[10])[at] = at;
  }
}
extern "C" __global__ void __launch_bounds__(256) number_groups(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[1]; at += gridDim.x * 256ull) {
    const u64 i = at;
    ((u64*)p.w[11])[at] = ((const u32*)p.w[7])[i];
  }
}
__device__ __forceinline__ void meet_group(const words& p, u32 group, const aggregates::State& later) {
  aggregates::State& all = (((aggregates::State*)p.w[12]))[group];
  if (all.first_row == ~u64(0)) all = later;
  else aggregates::merge(p, all, later);
}
__device__ __forceinline__ void emit_group(const words& p, u32 group, const aggregates::State& s) {
  aggregates::State later = s;
  later.first_row += p.w[13];
  meet_group(p, group, later);
}
using level = segment_level<aggregates::State>;
extern "C" __global__ void __launch_bounds__(256) fold_segments(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const u64* const order = ((const u64*)p.w[14]);
  fold_rows(p.w[15], level{((u64*)p.w[16]), (aggregates::State*)p.w[17]},
    [&](u64 at) -> u32 { const u64 i = order ? order[at] : at; (void)i; return ((const u32*)p.w[7])[i]; },
    [&](aggregates::State& s) { aggregates::init(p, s); },
    [&](aggregates::State& s, u64 at, bool first) {
      aggregates::Args args;
      if (row_at(p, order ? order[at] : at, at, first, args)) aggregates::update(p, s, args);
    },
    [&](u32 group, const aggregates::State& s) { emit_group(p, group, s); });
}
extern "C" __global__ void __launch_bounds__(256) fold_level(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  fold_states(p.w[15], level{((u64*)p.w[18]), (aggregates::State*)p.w[19]}, level{((u64*)p.w[16]), (aggregates::State*)p.w[17]},
    [&](aggregates::State& s, const aggregates::State& o) { aggregates::merge(p, s, o); },
    [&](u32 group, const aggregates::State& s) { emit_group(p, group, s); });
}
struct key_and_state {
  Key key;
  aggregates::State state;
};
static_assert(sizeof(key_and_state) == 32);
static_assert(sizeof(Key) == 4);
extern "C" __global__ void __launch_bounds__(256) grow_ids_of_groups(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  grow_ids(table_of_ids<Keys>{table{(table::slot*)p.w[2], (u32)p.w[3]}, ((u64*)p.w[4]), p.w[5], ((u32*)p.w[6])}, table_of_ids<Keys>{table{(table::slot*)p.w[20], (u32)p.w[21]}, ((u64*)p.w[4]), p.w[5], ((u32*)p.w[6])}, Keys{});
  if (blockIdx.x == 0 && threadIdx.x == 0) *(((u64*)p.w[4])) = p.w[22];
}
extern "C" __global__ void __launch_bounds__(256) spill_states(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[15]; at += gridDim.x * 256ull) {
    const u64 id = p.w[23] + at;
    const Key key = (((Key*)p.w[8]))[id];
    (((key_and_state*)p.w[24]))[at].key = key;
    (((key_and_state*)p.w[24]))[at].state = (((aggregates::State*)p.w[12]))[id];
    (((u32*)p.w[25]))[at] = (((aggregates::State*)p.w[12]))[id].first_row == ~u64(0) ? ~0u : u32(mix64(Keys{}.hash(key) + p.w[26]) >> 32) % 256u;
  }
}
extern "C" __global__ void __launch_bounds__(256) map_pairs(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  map_keys(p.w[15], table_of_ids<Keys>{table{(table::slot*)p.w[2], (u32)p.w[3]}, ((u64*)p.w[4]), p.w[5], ((u32*)p.w[6])}, ((u32*)p.w[7]), Keys{}, [&](u64 i, Key& key) {
    key = (((const key_and_state*)p.w[24]))[i].key;
    return true;
  }, [&](u32 id, u64 i) { (((Key*)p.w[8]))[id] = (((const key_and_state*)p.w[24]))[i].key; });
}
extern "C" __global__ void __launch_bounds__(256) meet_pairs(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[15]; at += gridDim.x * 256ull) {
    meet_group(p, (((const u32*)p.w[7]))[at], (((const key_and_state*)p.w[24]))[at].state);
  }
}
extern "C" __global__ void __launch_bounds__(256) finish_states(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[15]; at += gridDim.x * 256ull) {
    (((T2*)p.w[27]))[at] = finish_group(p, decode_2((((Key*)p.w[8]))[at]), (((aggregates::State*)p.w[12]))[at]);
  }
}
