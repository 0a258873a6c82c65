// What the radix sort of radix_sort.cuh takes: tiles and grids for keys and values of a size, and where its temporary and shared memory
// hold what. The host asks for it before it launches, the kernels while they run.
//
//   using policy = radix_policy<u64, u32>;
//   u64 temp_bytes = radix_temp_bytes<policy, u32>(n);               // zeroed before the first launch
//   u32 shared_bytes = radix_shared_bytes<policy, u64, u32>();       // of each of the radix_sweep_blocks<policy>(n) blocks
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

inline constexpr u32 radix_bits = 8;
inline constexpr u32 radix_bins = 1u << radix_bits;

// A tile is threads * items rows; threads must be at least radix_bins. `blocks` belongs into the sweep's __launch_bounds__(threads,
// blocks).
template <class Key, class Value>
struct radix_policy {
  static constexpr u32 row_bytes = sizeof(Key) + (__is_empty(Value) ? 0 : sizeof(Value));
  static constexpr bool is_pair = !__is_empty(Value);
  static constexpr bool is_digit = is_pair && sizeof(Key) == 1 && row_bytes <= 8;  // rows by partition
  static constexpr u32 threads = is_digit ? 256 : !is_pair || row_bytes <= 12 ? 512 : 384;
  static constexpr u32 items = !is_pair            ? (row_bytes <= 4 ? 23 : 15)
                               : is_digit          ? 23
                               : row_bytes <= 8    ? 19
                               : row_bytes <= 12   ? 13
                               : row_bytes <= 16   ? 15
                                                   : 7;
  static constexpr u32 blocks = 2;
  static constexpr u32 histogram_threads = 512;
  static constexpr u32 histogram_items = 8;
};

// Rows on their way between passes. Pass results alternate between [0] and [1]; a sort of at most two passes needs [0] alone, and since
// the last pass never reads [1], memory that the last pass writes may serve as [1]. Values are unused for no_value.
template <class Key, class Value>
struct radix_buffers {
  Key* keys[2];
  Value* values[2];
};

QUERY_GPU_BOTH constexpr u32 radix_passes(u32 bits) { return (bits + radix_bits - 1) / radix_bits; }

template <class Policy>
QUERY_GPU_BOTH constexpr u64 radix_tiles(u64 n) {
  return divide_up(n, u64(Policy::threads) * Policy::items);
}

// Word of a tile's message about one digit, two bits of it a flag: u32 serves up to 2^30 - 1 rows and costs half the traffic of u64.
QUERY_GPU_BOTH constexpr bool radix_fits_32_bit_counts(u64 n) { return n < (u64(1) << 30); }

// Blocks of Policy::histogram_threads on a card that holds `resident` of them at once; blocks of Policy::threads.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 radix_histogram_blocks(u64 n, u64 resident) {
  return larger(smaller(divide_up(n, u64(Policy::histogram_threads) * Policy::histogram_items), resident), u64(1));
}
// One tile a block is fastest, though any number of blocks is correct.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 radix_sweep_blocks(u64 n) {
  return larger(smaller(radix_tiles<Policy>(n), u64(0x7fffffff)), u64(1));
}

namespace detail {

// Temporary storage: words of coordination, plan, digit counts of all passes, and two sets of messages that active passes use in turn
// (each pass clears the other set for its successor).
inline constexpr u64 radix_counters_at = 64;
inline constexpr u64 radix_plan_at = 128;
inline constexpr u64 radix_histograms_at = 256;
inline constexpr u64 radix_messages_at = radix_histograms_at + 8 * radix_bins * sizeof(u64);

struct radix_pass {
  u32 active;
  u32 index;    // among the active passes
  u32 is_last;  // the result goes to the caller
  u32 target;   // the buffer written otherwise; the next active pass reads it
};
static_assert(8 * sizeof(radix_pass) == radix_histograms_at - radix_plan_at, "radix sort: the plan does not fit its place");

template <class Policy, class Key, class Value>
struct radix_shared {
  static constexpr u32 warps = Policy::threads / warp_size;
  static constexpr u32 rows = Policy::threads * Policy::items;
  static constexpr u32 key_bytes = (sizeof(Key) * rows + 15) / 16 * 16;
  static constexpr u32 value_bytes = __is_empty(Value) ? 0 : (sizeof(Value) * rows + 15) / 16 * 16;
  static constexpr u32 count_bytes = warps * radix_bins * sizeof(u32) * 2;
  static constexpr u32 counts_at = key_bytes;  // u32[warps][bins], then as many masks; the values take their place when they are done
  static constexpr u32 bases_at = counts_at + (count_bytes > value_bytes ? count_bytes : value_bytes);  // u64[bins]
  static constexpr u32 scan_at = bases_at + radix_bins * sizeof(u64);  // u32[bins / warp_size]
  static constexpr u32 tile_at = scan_at + 32;                                 // u64
  static constexpr u32 bytes = tile_at + 16;
};

}  // namespace detail

// Bytes of temporary storage, aligned to 256; all of it must be zero before the histogram's launch. Count: u32 or u64, see above.
template <class Policy, class Count>
QUERY_GPU_BOTH constexpr u64 radix_temp_bytes(u64 n) {
  return detail::radix_messages_at + 2 * radix_tiles<Policy>(n) * radix_bins * sizeof(Count);
}

// Bytes of dynamic shared memory of a sweep; over 48 KiB, so the launcher raises the kernel's limit.
template <class Policy, class Key, class Value>
QUERY_GPU_BOTH constexpr u32 radix_shared_bytes() {
  return detail::radix_shared<Policy, Key, Value>::bytes;
}

}  // namespace query::gpu
