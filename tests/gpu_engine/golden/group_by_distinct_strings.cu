#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/segments.cuh"
#include "gpu_primitives/grouper.cuh"
#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/sort_keys.cuh"
#include "gpu_engine/device/text_hash.cuh"
#include "gpu_primitives/atomics.cuh"
using namespace query::gpu;
struct words { u64 w[19]; const u64* halt; };
struct alignas(8) T0 {
  i32 f0;
  u8 gap0[4];
  i64 f1;
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
__device__ __forceinline__ i32 key_of_group_value(const words& p, u64 i) {
  const i32 v3 = ((const i32* __restrict__)p.w[0])[i];
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
  map_keys(p.w[1], table_of_ids<Keys>{table{(table::slot*)p.w[2], (u32)p.w[3]}, ((u64*)p.w[4]), 4294967280ull, ((u32*)p.w[5])}, ((u32*)p.w[6]), Keys{}, [&](u64 i, Key& key) { return key_of_group(p, i, key); }, [](u32, u64) {});
}
__device__ __forceinline__ bool present_0(const words& p, u64 i) {
  const text v4 = ((const text* __restrict__)p.w[7])[i];
  return true;
}
__device__ __forceinline__ text value_0(const words& p, u64 i) {
  const text v5 = ((const text* __restrict__)p.w[7])[i];
  return v5;
}
__device__ __forceinline__ u64 key_hash_6(const text& v, u64 h = 0x9ae16a3b2f90404full) {
  return hash_text(v, h);
}
__device__ __forceinline__ bool same_key_7(const text& a, const text& b) {
  return equal(a, b);
}
struct values_equal_0 {
  const words* p;
  __device__ bool operator()(u64 a, u64 b) const { return same_key_7(value_0(*p, a), value_0(*p, b)); }
};
using Values_0 = row_keys<values_equal_0>;
using table_Values_0 = hash_table_ref<Values_0, u32>;
static_assert(sizeof(table_Values_0::slot) == 32);
extern "C" __global__ void __launch_bounds__(256) map_values_0(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  map_keys(p.w[1], table_of_ids<Values_0>{table_Values_0{(table_Values_0::slot*)p.w[2], (u32)p.w[3]}, ((u64*)p.w[4]), 4294967280ull, ((u32*)p.w[5])}, ((u32*)p.w[8]), Values_0{{&p}}, [&](u64 i, Values_0::key_type& key) {
    if (!present_0(p, i)) return false;
    key = row_key{key_hash_6(value_0(p, i)), i};
    return true;
  }, [](u32, u64) {});
}
__device__ __forceinline__ u64 word_0(const words& p, u64 i) { return u64((((u32*)p.w[8]))[i]); }
extern "C" __global__ void __launch_bounds__(256) value_words_0(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[1]; at += gridDim.x * 256ull) {
    ((u64*)p.w[9])[at] = word_0(p, at);
  }
}
extern "C" __global__ void __launch_bounds__(256) group_words_0(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[1]; at += gridDim.x * 256ull) {
    const u64 i = ((const u64*)p.w[10])[at];
    ((u64*)p.w[9])[at] = u64(((const u32*)p.w[6])[i]) << 1 | (present_0(p, i) ? 0 : 1);
  }
}
struct aggregates {
  struct alignas(8) State {
    u64 s0;
    u64 first_row;
  };
  static_assert(sizeof(State) == 16);
  struct Args {
    u64 at;
    bool h0;
  };
  static_assert(sizeof(Args) == 16);
  static __device__ __forceinline__ void init(const words& p, State& s) {
      s.s0 = 0;
      s.first_row = ~u64(0);
  }
  static __device__ __forceinline__ void update(const words& p, State& s, const Args& a) {
      s.s0 += a.h0;
      if (a.at < s.first_row) s.first_row = a.at;
  }
  static __device__ __forceinline__ void merge(const words& p, State& s, const State& o) {
      s.s0 += o.s0;
      if (o.first_row < s.first_row) s.first_row = o.first_row;
  }
};
__device__ __forceinline__ bool row_at(const words& p, u64 i, u64 place, bool first, aggregates::Args& args) {
  args.h0 = present_0(p, ((const u64*)p.w[11])[place]) && (first || word_0(p, ((const u64*)p.w[11])[place - 1]) != word_0(p, ((const u64*)p.w[11])[place]));
  args.at = i;
  return true;
}
__device__ __forceinline__ T0 finish_group(const words& p, const i32& key, const aggregates::State& s) {
  i64 r0{};
  r0 = (i64)s.s0;
  T0 v8;
  v8.f0 = key;
  v8.f1 = r0;
  return v8;
}
extern "C" __global__ void __launch_bounds__(256) number_rows(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[1]; at += gridDim.x * 256ull) {
    ((u64*)p.w[12])[at] = at;
  }
}
extern "C" __global__ void __launch_bounds__(256) number_groups(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < p.w[1]; at += gridDim.x * 256ull) {
    const u64 i = at;
    ((u64*)p.w[9])[at] = ((const u32*)p.w[6])[i];
  }
}
__device__ __forceinline__ void emit_group(const words& p, u32 group, const aggregates::State& s) {
  (((T0*)p.w[13]))[group] = finish_group(p, key_of_group_value(p, s.first_row), s);
}
using level = segment_level<aggregates::State>;
extern "C" __global__ void __launch_bounds__(256) fold_segments(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const u64* const order = ((const u64*)p.w[10]);
  fold_rows(p.w[14], level{((u64*)p.w[15]), (aggregates::State*)p.w[16]},
    [&](u64 at) -> u32 { const u64 i = order ? order[at] : at; (void)i; return ((const u32*)p.w[6])[i]; },
    [&](aggregates::State& s) { aggregates::init(p, s); },
    [&](aggregates::State& s, u64 at, bool first) {
      aggregates::Args args;
      if (row_at(p, order ? order[at] : at, at, first, args)) aggregates::update(p, s, args);
    },
    [&](u32 group, const aggregates::State& s) { emit_group(p, group, s); });
}
extern "C" __global__ void __launch_bounds__(256) fold_level(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  fold_states(p.w[14], level{((u64*)p.w[17]), (aggregates::State*)p.w[18]}, level{((u64*)p.w[15]), (aggregates::State*)p.w[16]},
    [&](aggregates::State& s, const aggregates::State& o) { aggregates::merge(p, s, o); },
    [&](u32 group, const aggregates::State& s) { emit_group(p, group, s); });
}
