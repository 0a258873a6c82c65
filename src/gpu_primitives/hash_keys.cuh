// What a hash table on the GPU needs to know about keys: their hash and their equality.
//
// Every hashed primitive takes a `Keys` object, passed by value to the kernel. Two exist:
//
//   bitwise_keys<K>   K is trivially copyable, of 4, 8 or 16 bytes, and equal keys have equal bits (canonical bits of -0.0 and NaN
//                     are the caller's work, see canonical_bits). No key value is reserved.
//   row_keys<Equal>   keys of any width or strings: the key is {hash, row}, `bool equal(u64 row_a, u64 row_b)` compares two rows.
//                     The caller computes the 64-bit hash of a row; any hash is correct, a good one is fast.
//
// Hashes are 64 bits, good in all of them: the top bits choose a partition and a slot of a global table, the low half a slot of a
// table in shared memory.
//
//   const bitwise_keys<u64> keys;
//   u64 home = keys.hash(key) >> (64 - bits);
//   struct same_name { const name* names; __device__ bool operator()(u64 a, u64 b) const { return names[a] == names[b]; } };
//   const row_keys<same_name> rows{{names}};
//   bool same = rows.equal(row_key{hash_a, a}, row_key{hash_b, b});
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

// The key of a row that does not fit 16 bytes.
struct row_key {
  u64 hash;
  u64 row;
};

#if QUERY_GPU_DEVICE_CODE

// Finaliser of MurmurHash3 (Appleby), 32 bits.
__device__ __forceinline__ u32 mix32(u32 h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  return h;
}

// The same for 64 bits.
__device__ __forceinline__ u64 mix64(u64 h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdull;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ull;
  h ^= h >> 33;
  return h;
}

// Bits by which floating-point keys compare as values: one zero, one NaN.
__device__ __forceinline__ u64 canonical_bits(double v) {
  return v == 0.0 ? 0ull : v != v ? 0x7ff8000000000000ull : static_cast<u64>(__double_as_longlong(v));
}
__device__ __forceinline__ u32 canonical_bits(float v) {
  return v == 0.0f ? 0u : v != v ? 0x7fc00000u : __float_as_uint(v);
}

namespace detail {

// By value: a copy from memory by its bytes would read them one by one.
template <class To, class From>
__device__ __forceinline__ To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "query::gpu: sizes differ");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

template <u32 Bytes>
struct key_word {
  using type = u64;
};
template <>
struct key_word<4> {
  using type = u32;
};

struct two_words {
  u64 low, high;
};

}  // namespace detail

template <class Key>
struct bitwise_keys {
  static_assert(sizeof(Key) == 4 || sizeof(Key) == 8 || sizeof(Key) == 16, "query::gpu: keys of 4, 8 or 16 bytes; wider: row_keys");

  using key_type = Key;
  // Whether one compare-and-swap takes a whole key.
  static constexpr bool one_word = sizeof(Key) <= 8;

  __device__ __forceinline__ u64 hash(const Key& key) const {
    if constexpr (sizeof(Key) == 4) {
      return mix32(detail::same_bits<u32>(key)) * 0x9e3779b97f4a7c15ull;
    } else if constexpr (sizeof(Key) == 8) {
      return mix64(detail::same_bits<u64>(key));
    } else {
      const auto w = detail::same_bits<detail::two_words>(key);
      return mix64(w.low ^ mix64(w.high + 0x9e3779b97f4a7c15ull));
    }
  }

  __device__ __forceinline__ bool equal(const Key& a, const Key& b) const {
    if constexpr (sizeof(Key) == 4) {
      return detail::same_bits<u32>(a) == detail::same_bits<u32>(b);
    } else if constexpr (sizeof(Key) == 8) {
      return detail::same_bits<u64>(a) == detail::same_bits<u64>(b);
    } else {
      const auto x = detail::same_bits<detail::two_words>(a), y = detail::same_bits<detail::two_words>(b);
      return x.low == y.low && x.high == y.high;
    }
  }
};

template <class Equal>
struct row_keys {
  using key_type = row_key;
  static constexpr bool one_word = false;

  Equal rows_equal;

  // Mixed once more, so that a caller's weak hash spreads too.
  __device__ __forceinline__ u64 hash(const row_key& key) const { return mix64(key.hash); }
  __device__ __forceinline__ bool equal(const row_key& a, const row_key& b) const {
    return a.hash == b.hash && (a.row == b.row || rows_equal(a.row, b.row));
  }
};

#endif

}  // namespace query::gpu
