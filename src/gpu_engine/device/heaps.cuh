// What strings and lists view, copied from heap to heap: 8-byte words where both ends are aligned.
//
//   u8* to = heap + offsets[i];
//   value.f0 = copied(value.f0, to);   // `to` is behind the copy, at the next multiple of 8
//   value.f0 = copied_by_block(value.f0, to);   // the same by all threads of a block, for values that view much
#pragma once

#include "gpu_engine/device/expressions.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

__device__ __forceinline__ u64 viewed_bytes(const text& v) { return round_up(v.size, 8); }
template <class E> __device__ __forceinline__ u64 viewed_bytes(const list<E>& v) { return round_up(v.size * sizeof(E), 8); }

// `to` is a multiple of 8.
__device__ inline void copy_bytes(u8* to, const u8* from, u64 n) {
  u64 i = 0;
  if ((u64(from) & 7) == 0)
    for (; i + 8 <= n; i += 8) *(u64*)(to + i) = *(const u64*)(from + i);
  else if ((u64(from) & 3) == 0)
    for (; i + 4 <= n; i += 4) *(u32*)(to + i) = *(const u32*)(from + i);
  for (; i < n; ++i) to[i] = from[i];
}
__device__ inline text copied(const text& v, u8*& to) {
  copy_bytes(to, (const u8*)v.at, v.size);
  const text copy{(const char*)to, v.size};
  to += viewed_bytes(v);
  return copy;
}
template <class E> __device__ inline list<E> copied(const list<E>& v, u8*& to) {
  copy_bytes(to, (const u8*)v.at, v.size * sizeof(E));
  const list<E> copy{(const E*)to, v.size};
  to += viewed_bytes(v);
  return copy;
}

// By a block: all its threads call these with the same arguments, and go on when all have done their part.
__device__ inline void copy_bytes_by_block(u8* to, const u8* from, u64 n) {
  const u64 word = (u64(from) & 7) == 0 ? 8 : (u64(from) & 3) == 0 ? 4 : 1, words = n / word;
  for (u64 i = threadIdx.x; i < words; i += blockDim.x) {
    if (word == 8) ((u64*)to)[i] = ((const u64*)from)[i];
    else if (word == 4) ((u32*)to)[i] = ((const u32*)from)[i];
    else to[i] = from[i];
  }
  for (u64 i = words * word + threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
  __syncthreads();
}
__device__ inline text copied_by_block(const text& v, u8*& to) {
  copy_bytes_by_block(to, (const u8*)v.at, v.size);
  const text copy{(const char*)to, v.size};
  to += viewed_bytes(v);
  return copy;
}
template <class E> __device__ inline list<E> copied_by_block(const list<E>& v, u8*& to) {
  copy_bytes_by_block(to, (const u8*)v.at, v.size * sizeof(E));
  const list<E> copy{(const E*)to, v.size};
  to += viewed_bytes(v);
  return copy;
}
// The sum of what the threads before this one give; `all`: of all of them.
__device__ inline u64 sum_before_in_block(u64 mine, u64& all) {
  __shared__ u64 of_warps[32];
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u64 sum = mine;
  for (u32 d = 1; d < 32; d *= 2) {
    const u64 other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  __syncthreads();  // those of the call before have been read
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  u64 before = sum - mine;
  all = 0;
  for (u32 w = 0; w < blockDim.x / 32; ++w) {
    if (w < warp) before += of_warps[w];
    all += of_warps[w];
  }
  return before;
}
// Elements that own memory, whose list has been copied: many of them by runs, one a thread; few of them one after another.
template <class E, class Viewed, class Moved, class MovedByBlock>
__device__ void move_elements_by_block(E* at, u64 n, u8*& to, Viewed viewed, Moved moved, MovedByBlock moved_by_block) {
  if (n < blockDim.x) {
    for (u64 i = 0; i < n; ++i) {
      E e = at[i];
      moved_by_block(e, to);  // waits for all threads: they have read it
      if (threadIdx.x == 0) at[i] = e;
    }
    __syncthreads();
    return;
  }
  const u64 run = (n + blockDim.x - 1) / blockDim.x, first = min(n, threadIdx.x * run), end = min(n, first + run);
  u64 mine = 0, all;
  for (u64 i = first; i < end; ++i) mine += viewed(at[i]);
  u8* own = to + sum_before_in_block(mine, all);
  for (u64 i = first; i < end; ++i) moved(at[i], own);
  to += all;
  __syncthreads();
}

#endif

}  // namespace query::gpu
