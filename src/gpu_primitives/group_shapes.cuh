// The shapes of the tables in which a block of group_shared.cuh groups its rows: how many copies of the states, how many groups, how
// large an index. The host chooses them for a number of groups that it expects and the shared memory that there is.
//
//   const shared_group_shape s = plan_shared_groups(group_copies::warp, 1000, 8, 16, 227 * 1024);   // groups, bytes of keys and states
//   if (s.bytes) group<<<blocks, s.threads, s.bytes>>>(...);                                        // else another form
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

// How many groups there are, of a sample of `rows` rows in which there are `distinct` keys, `first` in one half of it and `second` in the
// other. Rows that repeat a key do as birthdays do where keys are alike: rows^2 / (2 * repeats). Where a few keys have many of the rows,
// their repeats would say that there are few groups; keys that were caught in both halves say how many there are all the same, as fish that
// are caught again do (Lincoln and Petersen). Infinite where nothing repeats.
QUERY_GPU_BOTH inline double groups_of_sample(double rows, double distinct, double first, double second) {
  constexpr double without_end = 1e300;
  const double repeats = rows - distinct, again = first + second - distinct;
  const double alike = distinct * 4 < rows ? distinct : repeats < 1 ? without_end : rows * rows / (2 * repeats);
  const double caught = again < 1 ? without_end : first * second / again;
  // The latter varies more from sample to sample.
  return caught > 1.5 * alike ? caught : larger(alike, distinct);
}

// The row that number j of a sample is, of each `stride` rows (fewer than 2^32) one, by chance: keys that come round, as those of numbered
// rows do, would seem fewer to a sample of every stride-th row.
QUERY_GPU_BOTH constexpr u64 sampled_row(u64 j, u64 stride) {
  u64 h = (j + 1) * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return j * stride + ((h >> 32) * stride >> 32);
}

enum class group_copies { thread, warp, block, memory };

// The shape of a block's tables; sizes in bytes count what dynamic shared memory a launch asks for.
struct shared_group_shape {
  u32 threads = 0;
  u32 capacity = 0;   // groups
  u32 word_bits = 0;  // 2^word_bits slots of the index, at least 1.5 * capacity
  u32 bytes = 0;
};

namespace detail {
QUERY_GPU_BOTH constexpr u32 owner_bytes(group_copies copies, u32 threads, u32 capacity) {
  return copies == group_copies::warp ? static_cast<u32>(round_up(u64(capacity) * (threads / warp_size), 16)) : 0;
}
QUERY_GPU_BOTH constexpr u32 state_copies(group_copies copies, u32 threads) {
  return copies == group_copies::thread   ? threads
         : copies == group_copies::warp   ? threads / warp_size
         : copies == group_copies::memory ? 0
                                          : 1;
}
}  // namespace detail

// Dynamic shared memory for a shape.
QUERY_GPU_BOTH constexpr u32 shared_group_bytes(group_copies copies, u32 threads, u32 capacity, u32 word_bits, u32 key_bytes,
                                                u32 state_bytes) {
  return static_cast<u32>(16 + (u64(2) << word_bits) + round_up(u64(capacity) * key_bytes, 16) +
                          detail::owner_bytes(copies, threads, capacity) +
                          round_up(u64(capacity) * state_bytes * detail::state_copies(copies, threads), 16));
}

// A shape for `groups` expected groups, or for no more than these, within `budget` bytes of shared memory, or bytes = 0 when this form does
// not fit.
// The index has sixteen slots a group where that is cheap: the lanes of a warp wait for the longest probe among them. `tight`: fewer rather
// than that the groups do not fit.
QUERY_GPU_BOTH constexpr shared_group_shape plan_shared_groups(group_copies copies, u64 groups, u32 key_bytes, u32 state_bytes,
                                                               u32 budget, bool exact = false, bool tight = false) {
  if (groups > 14000) return {};  // places have 14 bits
  shared_group_shape s;
  // More than expected: the estimate comes from a sample, and a partition has its share only on average.
  const u64 spare = exact ? 0 : groups / 8 + (groups < 2048 ? groups / 8 : 0);
  s.capacity = static_cast<u32>(larger<u64>(16, round_up(groups + spare, 16)));
  for (s.word_bits = 6; (1u << s.word_bits) < 16 * s.capacity && s.word_bits < 14; ++s.word_bits) {}
  while ((u64(1) << s.word_bits) * 2 < 3 * u64(s.capacity)) ++s.word_bits;
  const u32 roomy = s.word_bits + ((u64(1) << s.word_bits) < 3 * u64(s.capacity) ? 1 : 0);
  while (tight && (u64(1) << s.word_bits) >= 3 * u64(s.capacity)) --s.word_bits;
  const u32 least = copies == group_copies::block ? 512 : 128;
  for (s.threads = 1024; s.threads >= least; s.threads -= copies == group_copies::block ? 512 : 64) {
    for (u32 bits = roomy; bits >= s.word_bits; --bits) {
      s.bytes = shared_group_bytes(copies, s.threads, s.capacity, bits, key_bytes, state_bytes);
      if (s.bytes > budget) continue;
      s.word_bits = bits;
      return s;
    }
  }
  return {};
}

// A shape for sums of long arrays: small blocks, whose rows want many registers. A copy a warp where they are small.
inline constexpr u32 spread_threads = 256;
struct spread_group_plan {
  group_copies copies = group_copies::memory;
  shared_group_shape shape{};  // bytes = 0: too many groups
};
QUERY_GPU_BOTH constexpr spread_group_plan plan_spread_groups(u64 groups, u32 key_bytes, u32 state_bytes, u32 budget) {
  spread_group_plan p;
  if (groups > 2048) return p;
  shared_group_shape s;
  s.threads = spread_threads;
  s.capacity = static_cast<u32>(larger<u64>(16, round_up(groups + groups / 4, 16)));
  for (s.word_bits = 6; (1u << s.word_bits) < 8 * s.capacity; ++s.word_bits) {}
  s.bytes = shared_group_bytes(group_copies::warp, s.threads, s.capacity, s.word_bits, key_bytes, state_bytes);
  if (s.bytes <= budget / 6) {
    p.copies = group_copies::warp;
    p.shape = s;
    return p;
  }
  s.bytes = shared_group_bytes(group_copies::memory, s.threads, s.capacity, s.word_bits, key_bytes, state_bytes);
  if (s.bytes <= budget / 2) p.shape = s;
  return p;
}

}  // namespace query::gpu
