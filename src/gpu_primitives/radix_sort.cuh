// Sorts rows by unsigned keys, stably: least significant digit first, 8 bits a pass, one read and one write of the rows a pass.
//
// The algorithm is Onesweep (Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022): one kernel
// counts the digits of all passes, then each pass ranks its tiles and passes the digits' running counts from tile to tile by look-back.
// Passes whose digit is the same in all rows are skipped: the counting kernel writes the plan, the later kernels follow it, the host need
// not know. Signed, floating, descending and nullable keys: sort_keys.cuh. Several keys: sort by the last first, carrying row ids.
//
// Launches: radix_histogram once, then radix_sweep for pass = 0 .. radix_passes(Bits) - 1, in one stream.
//
//   #include "gpu_primitives/sort_keys.cuh"   // sort_key
//   using policy = radix_policy<u64, u32>;
//   extern "C" __global__ void count(const double* x, u64 n, void* temp) {
//     radix_histogram<policy, 64>(n, temp, [=](u64 i) { return sort_key(x[i]); });
//   }
//   extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void sweep(u32 pass, const double* x, u64 n, void* temp,
//                                                                       radix_buffers<u64, u32> between, u32* order) {
//     extern __shared__ __align__(16) u8 shared[];   // radix_shared_bytes<policy, u64, u32>() of them
//     radix_sweep<policy, 64, u64, u32, u32>(pass, n, temp, between, shared,
//         [=](u64 i) { return sort_key(x[i]); }, [](u64 i) { return u32(i); },
//         [](u64, u64) {}, [=](u64 at, u32 row) { order[at] = row; });
//   }
#pragma once

#include "gpu_primitives/radix_layout.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

namespace detail {

// Lanes whose digit equals the caller's. Masks are zero before; the caller clears those of the digits seen. A vote for each bit of the
// digit or the match instruction need no memory, but were slower on an H200 (bench/results).
__device__ __forceinline__ u32 same_digit(u32 digit, u32* masks) {
  atomicOr(&masks[digit], 1u << lane_id());
  __syncwarp();
  return masks[digit];
}

// Makes the compiler compute again what depends on `value`, where keeping it would take registers that the sort does not have.
template <class T>
__device__ __forceinline__ void forget_derived(T& value) {
  if constexpr (sizeof(T) == 8) {
    asm volatile("" : "+l"(value));
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("" : "+r"(value));
  } else if constexpr (sizeof(T) == 2) {
    asm volatile("" : "+h"(value));
  }
}

// Fixed numbers of small unsigned values, packed into registers; every index must be known at compile time (unrolled loops).
template <u32 Count, u32 Bits>
struct packed_registers {
  static constexpr u32 in_word = 32 / Bits;
  u32 words[(Count + in_word - 1) / in_word];

  __device__ __forceinline__ packed_registers() {
#pragma unroll
    for (u32 w = 0; w < (Count + in_word - 1) / in_word; ++w) words[w] = 0;
  }
  __device__ __forceinline__ void forget_derived() {
#pragma unroll
    for (u32& word : words) detail::forget_derived(word);
  }
  __device__ __forceinline__ void add(u32 i, u32 value) { words[i / in_word] += value << (i % in_word * Bits); }
  __device__ __forceinline__ u32 operator[](u32 i) const { return words[i / in_word] >> (i % in_word * Bits) & ((1u << Bits) - 1); }
};

// Exclusive prefix of one value of each of the first radix_bins threads; every thread of the block calls it.
template <class T>
__device__ __forceinline__ T scan_bins(T value, T* warp_totals) {
  const u32 lane = lane_id();
  const u32 warp = threadIdx.x / warp_size;
  T through = value;
#pragma unroll
  for (u32 d = 1; d < warp_size; d *= 2) {
    const T nearer = __shfl_up_sync(all_lanes, through, d);
    if (lane >= d) through += nearer;
  }
  if (warp < radix_bins / warp_size && lane == warp_size - 1) warp_totals[warp] = through;
  __syncthreads();
  T before = through - value;
#pragma unroll
  for (u32 w = 0; w < radix_bins / warp_size; ++w) {
    if (w < warp) before += warp_totals[w];
  }
  return before;
}

// Turns the digit counts of all passes into the places where each digit starts, and decides which passes run. One block.
template <u32 Passes>
__device__ __forceinline__ void radix_plan(u64 n, void* temp) {
  __shared__ u64 warp_totals[radix_bins / warp_size];
  __shared__ u32 constant_digit[Passes];
  u64* histograms = reinterpret_cast<u64*>(static_cast<u8*>(temp) + radix_histograms_at);
  radix_pass* plan = reinterpret_cast<radix_pass*>(static_cast<u8*>(temp) + radix_plan_at);
  if (threadIdx.x < Passes) constant_digit[threadIdx.x] = 0;
  for (u32 p = 0; p < Passes; ++p) {
    __syncthreads();
    u64* bin = histograms + p * radix_bins + threadIdx.x;
    const u64 count = threadIdx.x < radix_bins ? load_relaxed(bin) : 0;
    const u64 before = scan_bins(count, warp_totals);
    if (threadIdx.x < radix_bins) *bin = before;
    if (count == n) constant_digit[p] = 1;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  u32 active = 0;
  for (u32 p = 0; p < Passes; ++p) active += constant_digit[p] == 0 ? 1 : 0;
  if (active == 0) {  // all rows are equal: the first pass copies them
    constant_digit[0] = 0;
    active = 1;
  }
  u32 index = 0;
  for (u32 p = 0; p < Passes; ++p) {
    const bool runs = constant_digit[p] == 0;
    plan[p] = {u32(runs), index, u32(index + 1 == active), (active - index) & 1};  // the last buffer written is [0]
    if (runs) ++index;
  }
}

// Messages of tiles about digits.
template <class Count>
struct radix_messages {
  static constexpr u32 shift = 8 * sizeof(Count) - 2;
  static constexpr Count partial = Count(1) << shift;
  static constexpr Count inclusive = Count(2) << shift;
  static constexpr Count count = partial - 1;
};

// What the tiles before `tile` hold of one digit; one thread a digit. Several messages are on their way at once.
template <class Count>
__device__ __forceinline__ u64 look_back_digit(const Count* messages, u64 tile, u32 digit) {
  constexpr u32 ahead = 4;
  using m = radix_messages<Count>;
  u64 before = 0;
  u64 end = tile;  // tiles [0, end) are still to be added
  while (end != 0) {
    Count message[ahead];
#pragma unroll
    for (u32 a = 0; a < ahead; ++a) message[a] = a < end ? load_relaxed(messages + (end - 1 - a) * radix_bins + digit) : m::inclusive;
#pragma unroll
    for (u32 a = 0; a < ahead; ++a) {
      if (message[a] == 0) break;
      before += message[a] & m::count;
      if ((message[a] & m::inclusive) != 0) return before;
      --end;
    }
  }
  return before;
}

}  // namespace detail

// Counts the digits of all passes and plans them. key_of(i) -> unsigned word; bits above Bits must be zero. Blocks of
// Policy::histogram_threads threads, radix_histogram_blocks of them. True in the one block that finished last and made the plan.
template <class Policy, u32 Bits, class KeyOf>
__device__ __forceinline__ bool radix_histogram(u64 n, void* temp, KeyOf key_of) {
  constexpr u32 threads = Policy::histogram_threads;
  constexpr u32 items = Policy::histogram_items;
  constexpr u32 passes = radix_passes(Bits);
  static_assert(threads >= radix_bins && passes >= 1 && passes <= 8, "radix_histogram: 256 threads or more, 1 to 64 bits");
  __shared__ u32 counts[passes * radix_bins];
  __shared__ u32 is_last;
  for (u32 c = threadIdx.x; c < passes * radix_bins; c += threads) counts[c] = 0;
  __syncthreads();

  using key = decltype(key_of(u64(0)));
  const auto count_key = [&](key k) {
#pragma unroll
    for (u32 p = 0; p < passes; ++p) atomicAdd(&counts[p * radix_bins + u32(k >> (p * radix_bits) & (radix_bins - 1))], 1u);
  };
  constexpr u64 tile = u64(threads) * items;
  for (u64 begin = blockIdx.x * tile; begin < n; begin += gridDim.x * tile) {
    const u64 i = begin + threadIdx.x;
    if (begin + tile <= n) {
      key keys[items];
#pragma unroll
      for (u32 j = 0; j < items; ++j) keys[j] = key_of(i + j * threads);
#pragma unroll
      for (u32 j = 0; j < items; ++j) count_key(keys[j]);
    } else {
      for (u64 r = i; r < n; r += threads) count_key(key_of(r));
    }
  }
  __syncthreads();

  u64* histograms = reinterpret_cast<u64*>(static_cast<u8*>(temp) + detail::radix_histograms_at);
  for (u32 c = threadIdx.x; c < passes * radix_bins; c += threads) {
    if (counts[c] != 0) atomicAdd(&histograms[c], u64(counts[c]));
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(static_cast<u32*>(temp), 1u) == gridDim.x - 1;
  __syncthreads();
  if (is_last == 0) return false;
  __threadfence();
  detail::radix_plan<passes>(n, temp);
  return true;
}

namespace detail {

// Where a pass reads and writes: the caller's functors or the buffers between passes. One body serves all roles, since a kernel that
// holds four takes four times as long to compile at run time.
template <class Key, class Value>
struct radix_route {
  bool from_caller;
  bool to_caller;
  const Key* source_keys;
  const Value* source_values;
  Key* target_keys;
  Value* target_values;
};

// What places are computed in: pairs are faster with the width of the counts, keys alone with 64 bits (bench/results).
template <bool HasValues, class Count>
struct radix_place {
  using type = u64;
};
template <class Count>
struct radix_place<true, Count> {
  using type = Count;
};

// One stable pass: rows go to the place of their digit. digit_of(key) < radix_bins, and that of all ones is the last; bin_starts[d] is
// where digit d's rows begin.
template <class Policy, class Key, class Value, class Count, class DigitOf, class KeyOf, class ValueOf, class WriteKey, class WriteValue>
__device__ __forceinline__ void radix_move(u64 n, const u64* bin_starts, u64* counter, Count* messages, Count* messages_to_clear, u8* raw,
                                           const radix_route<Key, Value>& route, DigitOf digit_of, KeyOf key_of, ValueOf value_of,
                                           WriteKey write_key, WriteValue write_value) {
  using layout = radix_shared<Policy, Key, Value>;
  static_assert(layout::bytes <= 227 * 1024, "radix sort: rows are too wide for shared memory; sort row ids");
  using m = radix_messages<Count>;
  constexpr u32 threads = Policy::threads;
  constexpr u32 warps = layout::warps;
  constexpr u32 items = Policy::items;
  constexpr u32 tile_rows = threads * items;
  constexpr bool has_values = !__is_empty(Value);
  static_assert(tile_rows <= 1u << 16, "radix sort: places in a tile have 16 bits");
  static_assert(threads >= radix_bins && threads % warp_size == 0, "radix sort: a block needs a thread for each digit");

  Key* staged_keys = reinterpret_cast<Key*>(raw);
  Value* staged_values = reinterpret_cast<Value*>(raw + layout::counts_at);
  using place_word = typename radix_place<has_values, Count>::type;
  place_word* bases = reinterpret_cast<place_word*>(raw + layout::bases_at);
  u32* counts = reinterpret_cast<u32*>(raw + layout::counts_at);
  u32* scan_totals = reinterpret_cast<u32*>(raw + layout::scan_at);
  u64* shared_tile = reinterpret_cast<u64*>(raw + layout::tile_at);

  const u64 tiles = radix_tiles<Policy>(n);
  const u32 lane = lane_id();
  const u32 warp = threadIdx.x / warp_size;
  const u32 below = lanes_below();
  const u32 bin = threadIdx.x;
  u32* own_counts = counts + warp * radix_bins;
  u32* own_masks = own_counts + warps * radix_bins;

  if (threadIdx.x == 0) *shared_tile = atomicAdd(counter, u64(1));
  __syncthreads();
  u64 tile = *shared_tile;
  while (tile < tiles) {
    // A warp's rows are 32 * items adjacent ones, 32 a step: the order (warp, step, lane) is the order of the rows.
    const u32 own_first = warp * (items * warp_size) + lane;
    const u64 first = tile * tile_rows + own_first;
    const u32 rows = u32(smaller(n - tile * tile_rows, u64(tile_rows)));
    const bool full = rows == tile_rows;
    // The caller's functors are compiled once: threads behind the last row read that one, for nothing.
    const auto row_of = [&](u32 j) { return tile * tile_rows + smaller(own_first + j * warp_size, rows - 1); };
    Key key[items];
    if (route.from_caller) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) key[j] = key_of(row_of(j));
    } else if (full) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) key[j] = route.source_keys[first + j * warp_size];
    } else {
#pragma unroll
      for (u32 j = 0; j < items; ++j) key[j] = route.source_keys[row_of(j)];
    }
    if (!full) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) {
        if (own_first + j * warp_size >= rows) key[j] = Key(~Key(0));
      }
    }
    if (messages_to_clear != nullptr && bin < radix_bins) messages_to_clear[tile * radix_bins + bin] = 0;

    // Rank within the warp. Missing rows of the last tile come last in the last bin, so their places lie behind all others.
    for (u32 c = lane; c < radix_bins; c += warp_size) {
      own_counts[c] = 0;
      own_masks[c] = 0;
    }
    __syncwarp();
    packed_registers<items, 16> place;
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const u32 digit = digit_of(key[j]);
      const u32 same = same_digit(digit, own_masks);
      const u32 rank = own_counts[digit] + __popc(same & below);
      __syncwarp();
      if (same >> lane == 1) {  // the highest of the lanes speaks for all
        own_counts[digit] = rank + 1;
        own_masks[digit] = 0;
      }
      __syncwarp();
      place.add(j, rank);
    }
    __syncthreads();

    // Counts of the tile, told to the others at once; then where each warp's rows of each digit start in the tile.
    u32 in_tile = 0;
    if (bin < radix_bins) {
#pragma unroll
      for (u32 w = 0; w < warps; ++w) in_tile += counts[w * radix_bins + bin];
      const u32 real = bin == radix_bins - 1 ? in_tile - (tile_rows - rows) : in_tile;
      store_relaxed(messages + tile * radix_bins + bin, (tile == 0 ? m::inclusive : m::partial) | Count(real));
    }
    const u32 bin_start = scan_bins(in_tile, scan_totals);
    if (bin < radix_bins) {
      u32 start = bin_start;
#pragma unroll
      for (u32 w = 0; w < warps; ++w) {
        const u32 of_warp = counts[w * radix_bins + bin];
        counts[w * radix_bins + bin] = start;
        start += of_warp;
      }
    }
    __syncthreads();

#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      forget_derived(key[j]);
      const u32 digit = digit_of(key[j]);
      place.add(j, own_counts[digit]);
      staged_keys[place[j]] = key[j];
    }
    // Values come when keys need registers no more; they are on their way while the block looks back.
    Value value[items];
    if constexpr (has_values) {
      if (route.from_caller) {
#pragma unroll
        for (u32 j = 0; j < items; ++j) value[j] = value_of(row_of(j));
      } else if (full) {
#pragma unroll
        for (u32 j = 0; j < items; ++j) value[j] = route.source_values[first + j * warp_size];
      } else {
#pragma unroll
        for (u32 j = 0; j < items; ++j) value[j] = route.source_values[row_of(j)];
      }
    }
    if (bin < radix_bins) {
      const u64 before = look_back_digit(messages, tile, bin);
      const u32 real = bin == radix_bins - 1 ? in_tile - (tile_rows - rows) : in_tile;
      if (tile != 0) store_relaxed(messages + tile * radix_bins + bin, m::inclusive | Count(before + real));
      bases[bin] = place_word(bin_starts[bin] + before - bin_start);  // may wrap around; a place does not
    }
    if constexpr (has_values) {
      __syncthreads();  // no warp needs its counts any more
      place.forget_derived();
#pragma unroll
      for (u32 j = 0; j < items; ++j) staged_values[place[j]] = value[j];
    }
    __syncthreads();

    u64 next = 0;  // on its way while the rows leave
    if (threadIdx.x == 0 && gridDim.x < tiles) next = atomicAdd(counter, u64(1));
    const auto place_of = [&](u32 k) { return u64(place_word(bases[digit_of(staged_keys[k])] + k)); };
    if (route.to_caller) {
#pragma unroll 4
      for (u32 k = threadIdx.x; k < rows; k += threads) {
        const u64 at = place_of(k);
        write_key(at, staged_keys[k]);
        if constexpr (has_values) write_value(at, staged_values[k]);
      }
    } else if constexpr (has_values) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) {
        const u32 k = threadIdx.x + j * threads;
        if (k >= rows) continue;
        const u64 at = place_of(k);
        route.target_keys[at] = staged_keys[k];
        route.target_values[at] = staged_values[k];
      }
    } else {
#pragma unroll 4
      for (u32 k = threadIdx.x; k < rows; k += threads) route.target_keys[place_of(k)] = staged_keys[k];
    }
    if (gridDim.x >= tiles) return;  // every block has had its tile
    if (threadIdx.x == 0) *shared_tile = next;
    __syncthreads();
    tile = *shared_tile;
  }
}

}  // namespace detail

// Runs one pass. Row i is (key_of(i), value_of(i)) before the sort; write_key(at, key) and write_value(at, value) get the at-th row after
// it. key_of must be the histogram's. With Value = no_value the value functors are not called. `shared`: radix_shared_bytes of dynamic
// shared memory. Blocks of Policy::threads threads, radix_sweep_blocks of them. With KeysLast, key_of may read between.keys[1]: keys then
// go to [0] first, whatever passes are skipped, and the last pass may read either.
template <class Policy, u32 Bits, class Key, class Value, class Count, bool KeysLast = false, class KeyOf, class ValueOf, class WriteKey,
          class WriteValue>
__device__ __forceinline__ void radix_sweep(u32 pass, u64 n, void* temp, const radix_buffers<Key, Value>& between, u8* shared, KeyOf key_of,
                                            ValueOf value_of, WriteKey write_key, WriteValue write_value) {
  u8* at = static_cast<u8*>(temp);
  const detail::radix_pass plan = reinterpret_cast<const detail::radix_pass*>(at + detail::radix_plan_at)[pass];
  if (plan.active == 0) return;
  const u64* starts = reinterpret_cast<const u64*>(at + detail::radix_histograms_at) + pass * radix_bins;
  u64* counter = reinterpret_cast<u64*>(at + detail::radix_counters_at) + pass;
  Count* messages = reinterpret_cast<Count*>(at + detail::radix_messages_at);
  const u64 words = radix_tiles<Policy>(n) * radix_bins;
  Count* own = messages + (plan.index & 1) * words;
  Count* other = plan.is_last != 0 ? nullptr : messages + (~plan.index & 1) * words;

  const u32 shift = pass * radix_bits;
  const auto digit_of = [shift](Key key) { return u32(key >> shift) & (radix_bins - 1); };
  const bool to_first = plan.target == 0;
  const bool keys_to_first = KeysLast ? (plan.index & 1) == 0 : to_first;
  const detail::radix_route<Key, Value> route = {plan.index == 0,
                                                 plan.is_last != 0,
                                                 keys_to_first ? between.keys[1] : between.keys[0],
                                                 to_first ? between.values[1] : between.values[0],
                                                 keys_to_first ? between.keys[0] : between.keys[1],
                                                 to_first ? between.values[0] : between.values[1]};
  detail::radix_move<Policy, Key, Value, Count>(n, starts, counter, own, other, shared, route, digit_of, key_of, value_of, write_key,
                                                write_value);
}

#endif

}  // namespace query::gpu
