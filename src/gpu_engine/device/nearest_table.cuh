// The rows of a captured table as the tensor cores want them: what nearest.cuh multiplies with.
//
// Distances are compared by |c|^2 - 2 p.c, with p and c less the table's middle (a smaller product has a smaller
// error). Each number of p and c, scaled by a power of two, is a sum of two halves of 11 bits, hi + lo; hi.hi + hi.lo +
// lo.hi is the product but for 2^-22 of it. The table lies in memory as mma.sync.m16n8k16 reads it: a stage is sixteen
// rows, for each group of eight rows and sixteen dimensions 16 bytes a lane, hi and lo side by side, and behind them
// the sixteen |c|^2.
//
//   prepare_nearest<128>(table, k, [&](u64 j) { return centres[j].x; });     // one block of nearest_prepare_threads
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

inline constexpr u32 nearest_prepare_threads = 1024, nearest_columns = 16;  // rows of the table a stage
inline constexpr u32 nearest_wide_columns = 64;

// Sizes in units of 16 bytes.
QUERY_GPU_BOTH constexpr u32 nearest_steps(u32 dims) { return (dims + 15) / 16; }
QUERY_GPU_BOTH constexpr u32 nearest_stage(u32 dims) {
  return 2 * nearest_steps(dims) * warp_size + nearest_columns / 4;
}
QUERY_GPU_BOTH constexpr u32 nearest_wide_stage(u32 dims) {
  return 4 * nearest_steps(dims) * nearest_wide_columns + nearest_wide_columns / 4;
}
QUERY_GPU_BOTH constexpr u32 nearest_head(u32 dims) { return 1 + nearest_steps(dims) * 4; }
QUERY_GPU_BOTH constexpr u64 nearest_table_bytes(u64 rows, u32 dims, bool wide = false) {
  return 16 * (nearest_head(dims) + (wide ? divide_up(rows, nearest_wide_columns) * nearest_wide_stage(dims)
                                          : divide_up(rows, nearest_columns) * nearest_stage(dims)));
}

// In front of the table; behind it the middle, sixteen floats a step.
struct nearest_table_head {
  i32 exponent;  // of the largest number
  float norm;    // the longest row's, rounded up
  u32 exactly;   // numbers beyond what the scale is made for: all rows are compared as written
  u32 rows;
};

inline constexpr i32 nearest_most_exponent =
    35;  // beyond 2^35 or below 2^-35 products of scaled numbers could overflow

#if QUERY_GPU_DEVICE_CODE

namespace detail {

__device__ __forceinline__ bool finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }
__device__ __forceinline__ i32 exponent_of(float x) { return static_cast<i32>(__float_as_uint(x) >> 23 & 0xffu) - 127; }
__device__ __forceinline__ float power_of_two(i32 e) { return __uint_as_float(static_cast<u32>(e + 127) << 23); }

// Two floats as two halves of hi and two of lo; `a` in the low bits.
struct split_pair {
  u32 hi, lo;
};
__device__ __forceinline__ u32 two_halves(float a, float b) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
__device__ __forceinline__ split_pair split(float a, float b) {
  split_pair s;
  s.hi = two_halves(a, b);
  float x, y;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(x), "=f"(y) : "r"(s.hi));
  s.lo = two_halves(__fsub_rn(a, x), __fsub_rn(b, y));  // the differences are exact
  return s;
}

}  // namespace detail

// row_of(j) -> const float*, Dims numbers of row j. Wide: as nearest_wide.cuh reads it.
template <u32 Dims, bool Wide = false, class RowOf>
__device__ void prepare_nearest(uint4* table, u32 rows, const RowOf& row_of) {
  constexpr u32 steps = nearest_steps(Dims), padded = steps * 16, warps = nearest_prepare_threads / warp_size,
                columns = Wide ? nearest_wide_columns : nearest_columns,
                stage_size = Wide ? nearest_wide_stage(Dims) : nearest_stage(Dims);
  __shared__ float middle[padded];
  __shared__ u32 largest, longest;
  const u32 lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  if (threadIdx.x < padded) middle[threadIdx.x] = 0;
  if (threadIdx.x == 0) largest = longest = 0;
  __syncthreads();

  // Any middle will do; this one makes the products small.
  float sum[(Dims + 31) / 32] = {};
  for (u32 j = warp; j < rows; j += warps) {
    const float* c = row_of(j);
#pragma unroll
    for (u32 e = 0; e < Dims; e += 32)
      if (e + lane < Dims && detail::finite(c[e + lane])) sum[e / 32] += c[e + lane] / static_cast<float>(rows);
  }
#pragma unroll
  for (u32 e = 0; e < Dims; e += 32)
    if (e + lane < Dims) atomicAdd(middle + e + lane, sum[e / 32]);
  __syncthreads();
  if (threadIdx.x < Dims && !detail::finite(middle[threadIdx.x])) middle[threadIdx.x] = 0;
  __syncthreads();
  auto* const head = reinterpret_cast<nearest_table_head*>(table);
  if (threadIdx.x < padded) reinterpret_cast<float*>(table + 1)[threadIdx.x] = middle[threadIdx.x];

  // |c|^2. A row that is not finite is never nearer than one that is: infinitely far. But if the first row's distances
  // are no numbers then nothing is less than they are, and the first row is the answer.
  uint4* const stages = table + nearest_head(Dims);
  const auto square = [&](u32 j) -> float& {
    return reinterpret_cast<float*>(stages + u64(j / columns) * stage_size + stage_size - columns / 4)[j % columns];
  };
  const u32 padded_rows = static_cast<u32>(round_up(rows, columns));
  for (u32 j = warp; j < padded_rows; j += warps) {
    double square_sum = 0;
    float most = 0;
    bool whole = true, number = true;
    if (j < rows) {
      const float* c = row_of(j);
#pragma unroll
      for (u32 e = 0; e < Dims; e += 32) {
        if (e + lane >= Dims) continue;
        const float x = c[e + lane];
        if (!detail::finite(x)) {
          whole = false;
          if (x != x) number = false;
          continue;
        }
        const float v = __fsub_rn(x, middle[e + lane]);
        most = fmaxf(most, fabsf(v));
        square_sum += double(v) * double(v);
      }
    }
#pragma unroll
    for (u32 d = 16; d > 0; d /= 2) {
      square_sum += __shfl_xor_sync(all_lanes, square_sum, d);
      most = fmaxf(most, __shfl_xor_sync(all_lanes, most, d));
    }
    whole = __all_sync(all_lanes, whole);
    number = __all_sync(all_lanes, number);
    if (lane != 0) continue;
    const float infinity = __uint_as_float(0x7f800000u);
    square(j) = j < rows && whole ? static_cast<float>(square_sum) : j == 0 && !number ? -infinity : infinity;
    if (j < rows && whole) {
      atomicMax(&largest, __float_as_uint(most));
      atomicMax(&longest, __float_as_uint(static_cast<float>(square_sum)));
    }
  }
  __syncthreads();
  const float most = __uint_as_float(largest);
  const i32 exponent = most == 0 ? 0 : detail::exponent_of(most);
  const bool exactly = exponent > nearest_most_exponent || exponent < -nearest_most_exponent;
  if (threadIdx.x == 0) *head = {exponent, sqrtf(__uint_as_float(longest)) * 1.0001f, exactly, rows};

  // -2 c, its largest number between 2^14 and 2^15. Lane 4 g + t of step s has dimensions 16 s + 4 t + {0, 1, 2, 3} of
  // row g of a group of eight: not the order of the instruction, but sums have none.
  const float scale = exactly ? 0.0f : -2.0f * detail::power_of_two(13 - exponent);
  const auto number = [&](u32 j, u32 d) {
    return j < rows && d < Dims && detail::finite(square(j)) ? __fsub_rn(row_of(j)[d], middle[d]) * scale : 0.0f;
  };
  if constexpr (Wide) {
    // The same dimensions in the same places of the instruction, as 16 bytes of a row for each half of sixteen.
    for (u32 at = threadIdx.x; at < padded_rows * steps * 2; at += nearest_prepare_threads) {
      const u32 c = at % columns, part = at / columns % (2 * steps), stage = at / (columns * 2 * steps),
                d = part / 2 * 16 + part % 2 * 2;
      detail::split_pair v[4];
#pragma unroll
      for (u32 e = 0; e < 4; ++e)
        v[e] = detail::split(number(stage * columns + c, d + 4 * e), number(stage * columns + c, d + 4 * e + 1));
      uint4* const to = stages + u64(stage) * stage_size + part * columns + c;
      to[0] = make_uint4(v[0].hi, v[1].hi, v[2].hi, v[3].hi);
      to[2 * steps * columns] = make_uint4(v[0].lo, v[1].lo, v[2].lo, v[3].lo);
    }
  } else {
    for (u32 at = threadIdx.x; at < padded_rows / 8 * steps * warp_size; at += nearest_prepare_threads) {
      const u32 l = at % warp_size, s = at / warp_size % steps, group = at / (warp_size * steps), j = group * 8 + l / 4,
                d = 16 * s + 4 * (l % 4);
      const detail::split_pair a = detail::split(number(j, d), number(j, d + 1)),
                               b = detail::split(number(j, d + 2), number(j, d + 3));
      stages[u64(group / 2) * stage_size + (group % 2 * steps + s) * warp_size + l] =
          make_uint4(a.hi, b.hi, a.lo, b.lo);
    }
  }
}

#endif

}  // namespace query::gpu
