// Hashes of keys, bit by bit those of the CPU engine (cpu_engine/key_hash.cpp): a row is in the same partition, whoever makes them.
//
//   u64 h = partition_word(ordered_word(row.symbol));
//   u32 p = partition_of(h, parts);
#pragma once

#include "gpu_engine/device/expressions.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

inline constexpr u64 partition_null = 0x2545f4914f6cdd1dull;

__device__ __forceinline__ u64 partition_word(u64 x) {
  x ^= 0xa0761d6478bd642full;
  return x * 0xe7037ed1a0b428dbull ^ __umul64hi(x, 0xe7037ed1a0b428dbull);
}
__device__ __forceinline__ u64 partition_combine(u64 hash, u64 part) { return partition_word(hash ^ part); }
__device__ __forceinline__ u32 partition_of(u64 hash, u64 parts) { return u32(__umul64hi(hash, parts)); }

// A number as a word in its order, as wide as the number. By bits alone: a query that permits fast mathematics finds the same.
template <class T> __device__ __forceinline__ u64 ordered_word(T v) {
  constexpr u32 bits = sizeof(T) * 8;
  constexpr u64 sign = 1ull << (bits - 1), all = ~0ull >> (64 - bits);
  if constexpr (traits<T>::floating) {
    u64 word = 0;
    if constexpr (bits == 32) word = __float_as_uint(v);
    else word = u64(__double_as_longlong(v));
    constexpr u64 infinite = bits == 32 ? 0x7f800000ull : 0x7ff0000000000000ull;
    if ((word & ~sign) > infinite) return all;
    if (word == sign) word = 0;  // -0.0 is 0.0
    return word ^ (word & sign ? all : sign);
  } else if constexpr (traits<T>::is_signed) {
    return (u64(i64(v)) & all) ^ sign;
  } else {
    return u64(v);
  }
}

__device__ inline u64 partition_text(const text& t) {
  const bool aligned = (u64(t.at) & 7) == 0;
  const auto bytes = [&](u64 at, u64 n) {  // the first n <= 8, then zeros
    if (aligned && n == 8) return *(const u64*)(t.at + at);
    u64 word = 0;
    for (u32 b = 0; b < n; ++b) word |= u64(u8(t.at[at + b])) << (8 * b);
    return word;
  };
  u64 hash = partition_word(t.size), other = partition_null, i = 0;
  for (; i + 16 <= t.size; i += 16) {
    hash = partition_combine(hash, bytes(i, 8));
    other = partition_combine(other, bytes(i + 8, 8));
  }
  const u64 rest = t.size - i, first = rest < 8 ? rest : 8;
  return partition_combine(partition_combine(hash, bytes(i, first)) + partition_combine(other, bytes(i + first, rest - first)), 0);
}

#endif

}  // namespace query::gpu
