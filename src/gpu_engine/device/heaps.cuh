// What strings and lists view, copied from heap to heap: 8-byte words where both ends are aligned.
//
//   u8* to = heap + offsets[i];
//   value.f0 = copied(value.f0, to);   // `to` is behind the copy, at the next multiple of 8
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

#endif

}  // namespace query::gpu
