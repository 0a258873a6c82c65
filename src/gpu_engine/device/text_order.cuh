// Strings as words whose order is theirs: seven bytes a word, so that a string is sorted word by word, exactly.
//
//   u64 w = text_word(t, 0);   // the first seven bytes, the first on top; below them how many bytes are left, at most 8
//
// Of two strings with equal bytes in a word, the one with fewer bytes left ends there and is the lesser; a word that ends in
// less than 8 is a string's last.
#pragma once

#include "gpu_engine/device/expressions.cuh"

namespace query::gpu {

inline constexpr u64 text_word_bytes = 7;

#if QUERY_GPU_DEVICE_CODE

__device__ inline u64 text_word(const text& t, u64 number) {
  const u64 at = number * text_word_bytes, left = at < t.size ? t.size - at : 0;
  u64 word = 0;
#pragma unroll
  for (u32 i = 0; i < text_word_bytes; ++i) word = word << 8 | (i < left ? u64(u8(t.at[at + i])) : 0ull);
  return word << 8 | (left < 8 ? left : 8ull);
}
__device__ __forceinline__ bool text_goes_on(u64 word) { return (word & 0xff) == 8; }

#endif

}  // namespace query::gpu
