#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/hash_keys.cuh"
using namespace query::gpu;
struct words { u64 w[10]; const u64* halt; };
__device__ __forceinline__ u32 encode_3(const i32& v) {
  return u32(u64(u32(v)) << 0);
}
__device__ __forceinline__ i32 decode_4(const u32& e) {
  i32 v{};
  v = (i32)((u64(e) >> 0));
  return v;
}
struct aggregates { struct Args {}; };
using Keys = bitwise_keys<u32>;
using Key = Keys::key_type;
__device__ __forceinline__ bool group_row(const words& p, u64 i, Key& key, aggregates::Args& args) {
  const i64 v1 = ((const i64* __restrict__)p.w[0])[i];
  const bool v2 = v1 > (i64)p.w[1];
  if (!v2) return false;
  const i32 v5 = ((const i32* __restrict__)p.w[2])[i];
  key = encode_3(v5);
  return true;
}
extern "C" __global__ void __launch_bounds__(256) sample_groups(const __grid_constant__ words p) {
  if (p.halt && *p.halt) return;
  const auto table = [&](u64 which) {
    return table_of_ids<Keys>{{(hash_table_ref<Keys, u32>::slot*)p.w[3] + which * (table_slots((u32)p.w[4]) + 3), (u32)p.w[4]}, ((u64*)p.w[5]) + which, 1u << 30, ((u32*)p.w[6])};
  };
  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < p.w[7]; j += gridDim.x * 256ull) {
    Key key;
    aggregates::Args args;
    if (!group_row(p, sampled_row(j, p.w[8]), key, args)) continue;
    take_one(((u64*)p.w[9]));
#pragma unroll 1
    for (u32 all = 0; all < 2; ++all) find_or_insert_id(table(all ? 0 : 1 + (j & 1)), Keys{}, key, [](u32) {});
  }
}
static_assert(sizeof(hash_table_ref<Keys, u32>::slot) == 8);
