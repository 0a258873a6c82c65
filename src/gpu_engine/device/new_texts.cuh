// Strings that functions make: their characters come from one heap, whose end moves on by an atomic addition a warp.
//
// What does not fit gets no characters, but counts: the host sees how much room all strings want, and runs the kernel again.
//
//   const text_room room{heap, capacity, used};
//   const text t = joined(room, first, last);
#pragma once

#include "gpu_engine/device/heaps.cuh"

namespace query::gpu {

struct text_room {
  u8* at;
  u64 capacity;
  u64* used;  // bytes that were asked for, also beyond the capacity
};

#if QUERY_GPU_DEVICE_CODE

// Null where there is no room. The lanes that come here together ask once.
__device__ inline u8* take(const text_room& room, u64 size) {
  const u64 bytes = round_up(size, 8);
  const u32 active = __activemask(), lane = lane_id();
  u64 before = 0, total = 0;
  for (u32 left = active; left; left &= left - 1) {
    const u32 from = u32(__ffs(int(left))) - 1;
    const u64 theirs = __shfl_sync(active, bytes, int(from));
    total += theirs;
    if (from < lane) before += theirs;
  }
  const u32 first = u32(__ffs(int(active))) - 1;
  u64 at = 0;
  if (lane == first) at = atomicAdd(room.used, total);
  at = __shfl_sync(active, at, int(first)) + before;
  return at + bytes <= room.capacity ? room.at + at : nullptr;
}

__device__ inline text joined(const text_room& room, const text& a, const text& b) {
  if (b.size == 0) return a;
  if (a.size == 0) return b;
  u8* const to = take(room, a.size + b.size);
  if (!to) return {nullptr, 0};
  copy_bytes(to, (const u8*)a.at, a.size);
  for (u64 i = 0; i < b.size; ++i) to[a.size + i] = u8(b.at[i]);
  return {(const char*)to, a.size + b.size};
}

// ASCII only, as on the host.
template <char First, char Last> __device__ inline text shifted(const text_room& room, const text& a, int by) {
  u8* const to = take(room, a.size);
  if (!to) return {nullptr, 0};
  for (u64 i = 0; i < a.size; ++i) to[i] = u8(a.at[i] >= First && a.at[i] <= Last ? a.at[i] + by : a.at[i]);
  return {(const char*)to, a.size};
}
__device__ inline text to_lower(const text_room& room, const text& a) { return shifted<'A', 'Z'>(room, a, 'a' - 'A'); }
__device__ inline text to_upper(const text_room& room, const text& a) { return shifted<'a', 'z'>(room, a, 'A' - 'a'); }

#endif

}  // namespace query::gpu
