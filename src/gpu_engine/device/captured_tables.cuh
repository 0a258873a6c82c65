// Small captured collections in the shared memory of a block, which its functions read instead of device memory.
//
//   extern __shared__ __align__(16) u8 captured[];
//   copy_captured(captured, rows, n);
//   __syncthreads();
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

namespace detail {
template <u32 Bytes> struct copied;
template <> struct copied<16> { using word = uint4; };
template <> struct copied<8> { using word = uint2; };
template <> struct copied<4> { using word = u32; };
template <> struct copied<2> { using word = u16; };
template <> struct copied<1> { using word = u8; };
}  // namespace detail

// By all threads of a block. Collections lie at multiples of the largest power of two, up to 16, that divides a row's size.
template <class Row>
__device__ __forceinline__ void copy_captured(u8* to, const Row* rows, u64 n) {
  constexpr u32 width = sizeof(Row) % 16 == 0 ? 16 : sizeof(Row) % 8 == 0 ? 8 : sizeof(Row) % 4 == 0 ? 4 : sizeof(Row) % 2 == 0 ? 2 : 1;
  using word = typename detail::copied<width>::word;
  const u32 words = u32(n) * u32(sizeof(Row) / width);
#pragma unroll 1
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) reinterpret_cast<word*>(to)[i] = reinterpret_cast<const word*>(rows)[i];
}

#endif

}  // namespace query::gpu
