// Words, constants and the few device pieces that every GPU primitive shares.
//
// Freestanding: the same text compiles under nvcc, under NVRTC (which has no standard headers) and, for the parts that size buffers
// and grids, under the host compiler.
//
//   u64 tiles = query::gpu::divide_up(n, 4096);
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define QUERY_GPU_DEVICE_CODE 1
#define QUERY_GPU_BOTH __host__ __device__
#else
#define QUERY_GPU_DEVICE_CODE 0
#define QUERY_GPU_BOTH
#endif

namespace query::gpu {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "query::gpu: unexpected widths of integers");

inline constexpr u32 warp_size = 32;
inline constexpr u32 all_lanes = 0xffffffffu;

QUERY_GPU_BOTH constexpr u64 divide_up(u64 a, u64 b) { return a / b + (a % b != 0); }
QUERY_GPU_BOTH constexpr u64 round_up(u64 a, u64 b) { return divide_up(a, b) * b; }

template <class T>
QUERY_GPU_BOTH constexpr T smaller(T a, T b) { return b < a ? b : a; }
template <class T>
QUERY_GPU_BOTH constexpr T larger(T a, T b) { return a < b ? b : a; }

// Copies the representation of one value into another, as many bytes as both have. NVRTC knows memcpy without a header, but no builtin of
// that name.
template <class To, class From>
QUERY_GPU_BOTH inline void copy_bits(To& to, const From& from) {
  constexpr auto bytes = sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From);
#if defined(__CUDACC_RTC__)
  memcpy(&to, &from, bytes);
#else
  __builtin_memcpy(&to, &from, bytes);
#endif
}

// The unsigned number of so many bytes.
namespace detail {
template <u32 Bytes>
struct unsigned_of;
template <>
struct unsigned_of<1> {
  using type = u8;
};
template <>
struct unsigned_of<2> {
  using type = u16;
};
template <>
struct unsigned_of<4> {
  using type = u32;
};
template <>
struct unsigned_of<8> {
  using type = u64;
};
}  // namespace detail

// The empty payload: a sort of keys alone, a table without values.
struct no_value {};

#if QUERY_GPU_DEVICE_CODE

__device__ __forceinline__ u32 lane_id() {
  u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Bits of the lanes below the calling one.
__device__ __forceinline__ u32 lanes_below() {
  u32 mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

// Accesses that other blocks of the same grid see. Relaxed ones carry a whole message in one word; acquire and release order others.
__device__ __forceinline__ u32 load_relaxed(const u32* p) {
  u32 v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p)) : "memory");
  return v;
}
__device__ __forceinline__ u64 load_relaxed(const u64* p) {
  u64 v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(__cvta_generic_to_global(p)) : "memory");
  return v;
}
__device__ __forceinline__ u32 load_acquire(const u32* p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p)) : "memory");
  return v;
}
__device__ __forceinline__ u64 load_acquire(const u64* p) {
  u64 v;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(__cvta_generic_to_global(p)) : "memory");
  return v;
}
__device__ __forceinline__ void store_relaxed(u32* p, u32 v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
}
__device__ __forceinline__ void store_relaxed(u64* p, u64 v) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}
__device__ __forceinline__ void store_release(u32* p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
}
__device__ __forceinline__ void store_release(u64* p, u64 v) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}
// And in shared memory, by the threads of a block.
__device__ __forceinline__ u32 load_acquire_shared(const u16* p) {
  u16 v;
  asm volatile("ld.acquire.cta.shared.u16 %0, [%1];" : "=h"(v) : "r"(static_cast<u32>(__cvta_generic_to_shared(p))) : "memory");
  return v;
}
__device__ __forceinline__ void store_release_shared(u16* p, u16 v) {
  asm volatile("st.release.cta.shared.u16 [%0], %1;" ::"r"(static_cast<u32>(__cvta_generic_to_shared(p))), "h"(v) : "memory");
}

namespace detail {

// Splits a trivially copyable value into the 32-bit words that a shuffle moves.
template <class T>
struct shuffle_words {
  static constexpr u32 count = (sizeof(T) + 3) / 4;
  union box {
    T value;
    u32 words[count];
    __device__ box() {}
  };
};

}  // namespace detail

// Values of any trivially copyable type from another lane of a full warp.
template <class T>
__device__ __forceinline__ T shuffle_up(const T& value, u32 delta) {
  typename detail::shuffle_words<T>::box b;
  b.value = value;
#pragma unroll
  for (u32 w = 0; w < detail::shuffle_words<T>::count; ++w) b.words[w] = __shfl_up_sync(all_lanes, b.words[w], delta);
  return b.value;
}
template <class T>
__device__ __forceinline__ T shuffle_down(const T& value, u32 delta) {
  typename detail::shuffle_words<T>::box b;
  b.value = value;
#pragma unroll
  for (u32 w = 0; w < detail::shuffle_words<T>::count; ++w) b.words[w] = __shfl_down_sync(all_lanes, b.words[w], delta);
  return b.value;
}
template <class T>
__device__ __forceinline__ T shuffle_from(const T& value, u32 lane) {
  typename detail::shuffle_words<T>::box b;
  b.value = value;
#pragma unroll
  for (u32 w = 0; w < detail::shuffle_words<T>::count; ++w) b.words[w] = __shfl_sync(all_lanes, b.words[w], lane);
  return b.value;
}

#endif

}  // namespace query::gpu
