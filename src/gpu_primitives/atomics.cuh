// Atomic add, minimum and maximum of the six number types, on shared or global memory. For aggregates' update_atomic:
//
//   static __device__ void update_atomic(State& s, const Args& a) { atomic_add(&s.sum, a.v); atomic_add(&s.count, u64(1)); }
//
// Floating-point sums depend on the order of rows in their last bits. Minimum and maximum pass over NaN, as `<` does.
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

__device__ __forceinline__ void atomic_add(i32* p, i32 v) { atomicAdd(p, v); }
__device__ __forceinline__ void atomic_add(u32* p, u32 v) { atomicAdd(p, v); }
// Shared memory adds 32 bits at once and 64 bits by a loop of compare-and-swap: there the low half carries into the high one. Nobody may
// read the sum before a barrier.
__device__ __forceinline__ void atomic_add(u64* p, u64 v) {
  if (!__isShared(p)) {
    atomicAdd(p, v);
    return;
  }
  u32* const halves = reinterpret_cast<u32*>(p);
  const u32 low = static_cast<u32>(v);
  const u32 carry = atomicAdd(halves, low) > ~low;
  const u32 high = static_cast<u32>(v >> 32) + carry;
  if (high) atomicAdd(halves + 1, high);
}
__device__ __forceinline__ void atomic_add(i64* p, i64 v) { atomic_add(reinterpret_cast<u64*>(p), static_cast<u64>(v)); }
__device__ __forceinline__ void atomic_add(float* p, float v) { atomicAdd(p, v); }
__device__ __forceinline__ void atomic_add(double* p, double v) { atomicAdd(p, v); }

__device__ __forceinline__ void atomic_min(i32* p, i32 v) { atomicMin(p, v); }
__device__ __forceinline__ void atomic_min(u32* p, u32 v) { atomicMin(p, v); }
__device__ __forceinline__ void atomic_min(i64* p, i64 v) { atomicMin(p, v); }
__device__ __forceinline__ void atomic_min(u64* p, u64 v) { atomicMin(p, v); }
__device__ __forceinline__ void atomic_max(i32* p, i32 v) { atomicMax(p, v); }
__device__ __forceinline__ void atomic_max(u32* p, u32 v) { atomicMax(p, v); }
__device__ __forceinline__ void atomic_max(i64* p, i64 v) { atomicMax(p, v); }
__device__ __forceinline__ void atomic_max(u64* p, u64 v) { atomicMax(p, v); }

namespace detail {

// Replaces *p by v for as long as better(v, *p).
template <class Better>
__device__ __forceinline__ void atomic_improve(double* p, double v, Better better) {
  u64* bits = reinterpret_cast<u64*>(p);
  u64 seen = *reinterpret_cast<volatile u64*>(bits);
  while (better(v, __longlong_as_double(static_cast<i64>(seen)))) {
    const u64 before = atomicCAS(bits, seen, static_cast<u64>(__double_as_longlong(v)));
    if (before == seen) return;
    seen = before;
  }
}
template <class Better>
__device__ __forceinline__ void atomic_improve(float* p, float v, Better better) {
  u32* bits = reinterpret_cast<u32*>(p);
  u32 seen = *reinterpret_cast<volatile u32*>(bits);
  while (better(v, __uint_as_float(seen))) {
    const u32 before = atomicCAS(bits, seen, __float_as_uint(v));
    if (before == seen) return;
    seen = before;
  }
}

struct is_less {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return a < b;
  }
};
struct is_greater {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return b < a;
  }
};

}  // namespace detail

__device__ __forceinline__ void atomic_min(double* p, double v) { detail::atomic_improve(p, v, detail::is_less{}); }
__device__ __forceinline__ void atomic_min(float* p, float v) { detail::atomic_improve(p, v, detail::is_less{}); }
__device__ __forceinline__ void atomic_max(double* p, double v) { detail::atomic_improve(p, v, detail::is_greater{}); }
__device__ __forceinline__ void atomic_max(float* p, float v) { detail::atomic_improve(p, v, detail::is_greater{}); }

#endif

}  // namespace query::gpu
