// Hashes of strings, eight bytes a step; equal for equal strings, wherever they lie.
//
//   u64 h = hash_text(t, seed);
#pragma once

#include "gpu_engine/device/expressions.cuh"
#include "gpu_primitives/hash_keys.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

__device__ inline u64 hash_text(const text& t, u64 h) {
  const bool aligned = (u64(t.at) & 7) == 0;
  u64 i = 0;
  for (; i + 8 <= t.size; i += 8) {
    u64 word = 0;
    if (aligned) {
      word = *(const u64*)(t.at + i);
    } else {
#pragma unroll
      for (u32 b = 0; b < 8; ++b) word |= u64(u8(t.at[i + b])) << (8 * b);
    }
    h = mix64(h ^ word) + 0x9e3779b97f4a7c15ull;
  }
  u64 rest = 0;
  for (u32 b = 0; i + b < t.size; ++b) rest |= u64(u8(t.at[i + b])) << (8 * b);
  return mix64(mix64(h ^ rest) ^ t.size);
}

#endif

}  // namespace query::gpu
