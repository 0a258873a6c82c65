// Passes a running total from tile to tile inside one kernel: the decoupled look-back of Merrill and Garland, "Single-pass Parallel
// Prefix Scan with Decoupled Look-back" (2016).
//
// Each tile publishes first its own total (partial), then the total of everything up to and including it (inclusive). A tile that wants
// what lies before it reads its predecessors' messages backwards until it meets an inclusive one. Invariant: tile ids come from one
// counter, a block takes them in increasing order, and before it publishes the partial total of one it waits for lower tiles at most; so
// the lowest unpublished tile can always be published, and no wait depends on how blocks are scheduled. A block takes an id when it can
// begin it at once: a tile that is taken but not begun stalls all later ones (measured: a third slower). All-zero memory: nothing
// published.
//
//   if (warp == 0) { T before = look_back<tile_messages<T>>(states, tile, total, identity, op); ... }
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

enum class tile_flag : u32 { empty = 0, partial = 1, inclusive = 2 };

// Messages that hold a count below 2^62: one 64-bit word each.
struct tile_counts {
  using value_type = u64;
  QUERY_GPU_BOTH static constexpr u64 bytes(u64 tiles) { return tiles * sizeof(u64); }

#if QUERY_GPU_DEVICE_CODE
  static __device__ __forceinline__ void publish(void* states, u64, u64 tile, tile_flag flag, u64 value) {
    store_relaxed(static_cast<u64*>(states) + tile, u64(flag) << 62 | value);
  }
  static __device__ __forceinline__ tile_flag read(const void* states, u64, u64 tile, u64& value) {
    const u64 word = load_relaxed(static_cast<const u64*>(states) + tile);
    value = word & ((u64(1) << 62) - 1);
    return tile_flag(u32(word >> 62));
  }
#endif
};

// Messages that hold any trivially copyable value: flag and value in one word of 8 or 16 bytes where they fit, else three arrays.
template <class T, u32 Class = (sizeof(T) <= 4 ? 4 : sizeof(T) <= 8 ? 8 : 0)>
struct tile_messages;

template <class T>
struct tile_messages<T, 4> {
  using value_type = T;
  QUERY_GPU_BOTH static constexpr u64 bytes(u64 tiles) { return tiles * 8; }

#if QUERY_GPU_DEVICE_CODE
  static __device__ __forceinline__ void publish(void* states, u64, u64 tile, tile_flag flag, const T& value) {
    u32 bits = 0;
    copy_bits(bits, value);
    store_relaxed(static_cast<u64*>(states) + tile, u64(flag) << 32 | bits);
  }
  static __device__ __forceinline__ tile_flag read(const void* states, u64, u64 tile, T& value) {
    const u64 word = load_relaxed(static_cast<const u64*>(states) + tile);
    const u32 bits = u32(word);
    copy_bits(value, bits);
    return tile_flag(u32(word >> 32));
  }
#endif
};

template <class T>
struct tile_messages<T, 8> {
  using value_type = T;
  QUERY_GPU_BOTH static constexpr u64 bytes(u64 tiles) { return tiles * 16; }

#if QUERY_GPU_DEVICE_CODE
  static __device__ __forceinline__ void publish(void* states, u64, u64 tile, tile_flag flag, const T& value) {
    u64 bits = 0;
    copy_bits(bits, value);
    asm volatile(
        "{\n\t.reg .b128 word;\n\tmov.b128 word, {%1, %2};\n\tst.relaxed.gpu.global.b128 [%0], word;\n\t}" ::"l"(
            __cvta_generic_to_global(static_cast<u64*>(states) + 2 * tile)),
        "l"(bits), "l"(u64(flag))
        : "memory");
  }
  static __device__ __forceinline__ tile_flag read(const void* states, u64, u64 tile, T& value) {
    u64 bits, flag;
    asm volatile("{\n\t.reg .b128 word;\n\tld.relaxed.gpu.global.b128 word, [%2];\n\tmov.b128 {%0, %1}, word;\n\t}"
                 : "=l"(bits), "=l"(flag)
                 : "l"(__cvta_generic_to_global(static_cast<const u64*>(states) + 2 * tile))
                 : "memory");
    copy_bits(value, bits);
    return tile_flag(u32(flag));
  }
#endif
};

template <class T>
struct tile_messages<T, 0> {
  using value_type = T;
  QUERY_GPU_BOTH static constexpr u64 flag_bytes(u64 tiles) { return round_up(tiles * 4, 128); }
  QUERY_GPU_BOTH static constexpr u64 bytes(u64 tiles) { return flag_bytes(tiles) + 2 * tiles * sizeof(T); }

#if QUERY_GPU_DEVICE_CODE
  static __device__ __forceinline__ T* slot(void* states, u64 tiles, u64 tile, tile_flag flag) {
    T* values = reinterpret_cast<T*>(static_cast<u8*>(states) + flag_bytes(tiles));
    return values + 2 * tile + (flag == tile_flag::inclusive ? 1 : 0);
  }
  static __device__ __forceinline__ void publish(void* states, u64 tiles, u64 tile, tile_flag flag, const T& value) {
    *slot(states, tiles, tile, flag) = value;
    store_release(static_cast<u32*>(states) + tile, u32(flag));
  }
  static __device__ __forceinline__ tile_flag read(const void* states, u64 tiles, u64 tile, T& value) {
    const tile_flag flag = tile_flag(load_acquire(static_cast<const u32*>(states) + tile));
    if (flag != tile_flag::empty) value = *slot(const_cast<void*>(states), tiles, tile, flag);
    return flag;
  }
#endif
};

#if QUERY_GPU_DEVICE_CODE

// Returns the combination of all tiles before `tile`, to every lane. Called by one whole warp, after that warp published the tile's own
// total as partial; the caller publishes the inclusive total. `combine(left, right)` need not commute.
template <class Messages, class Combine>
__device__ __forceinline__ typename Messages::value_type look_back(const void* states, u64 tiles, u64 tile,
                                                                   const typename Messages::value_type& identity,
                                                                   Combine combine) {
  using T = typename Messages::value_type;
  const u32 lane = lane_id();
  T before = identity;
  u64 end = tile;  // tiles [0, end) are still to be added
  while (end != 0) {
    T value = identity;
    u32 finished;
    while (true) {
      tile_flag flag = tile_flag::inclusive;  // what lies before the first tile is known to be nothing
      if (lane < end) flag = Messages::read(states, tiles, end - 1 - lane, value);
      finished = __ballot_sync(all_lanes, flag == tile_flag::inclusive);
      u32 missing = __ballot_sync(all_lanes, flag == tile_flag::empty);
      // Only the messages nearer than the nearest inclusive one are needed.
      if (finished != 0) missing &= (finished & (0u - finished)) - 1;
      if (missing == 0) break;
    }
    const u32 last = finished == 0 ? warp_size - 1 : u32(__ffs(int(finished))) - 1;
    if (lane > last) value = identity;
#pragma unroll
    for (u32 d = 1; d < warp_size; d *= 2) {
      const T farther = shuffle_down(value, d);
      if (lane + d <= last) value = combine(farther, value);
    }
    before = combine(shuffle_from(value, 0), before);
    if (finished != 0) break;
    end = end > warp_size ? end - warp_size : 0;
  }
  return before;
}

#endif

}  // namespace query::gpu
