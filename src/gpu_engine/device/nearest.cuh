// For each row the nearest row of a table by squared distance, on the tensor cores; the answer is the one that the
// expression as it was written gives, the first of equals included.
//
//   1. nearest_rows: the table prepared (nearest_table.cuh) runs through shared memory past rows that lie in registers.
//   Each lane keeps
//      the best and the second best of the columns that it sees, the four lanes of a row meet at the end. What is best
//      by more than the error of both computations is the answer. Else the columns within that distance are written
//      down as candidates, or, where a lane has seen more than one of them, the row.
//   2. nearest_rows<true>: the rows written down once more, for all their candidates.
//   3. compare_exactly: the expression as it was written for each candidate; the least (distance, column) of a row is
//   its answer.
//
// The error, for |p| = P and no |c| beyond C, both less the middle, u = 2^-24:
//   * what is left out of a product, lo.lo, and the roundings of both lo: 3 * 2^-22 |p_i c_i| each, by Cauchy and
//   Schwarz together no more
//     than 3 * 2^-22 * 2 P C of the sum, whose products are of p and -2 c;
//   * an mma adds 16 products to a sum that is at most 2 P C: all addends are cut off at 2^-25 of the largest (sm_90:
//   two bits more than
//     floats have; sm_80: twice eight products with one bit more; Fasi, Higham, Mikaitis, Pranesh, Numerical behavior
//     of NVIDIA tensor cores, 2021), then the sum is rounded toward zero: together less than 3 * 2^-21 of the largest.
//     The products with a lo are summed apart; they are 2^-11 of the others.
//   So the sum is off by at most (6 steps + 4) 2^-21 P C.
//   * roundings of p and c less the middle, of |c|^2 and of the last two additions: less than 12 u (P + C)^2;
//   * the expression itself, of n additions in a row, is off by at most (n + 3) u of the distance.
// Two columns whose results differ by more than twice all that compare as the expression does.
#pragma once

#include "gpu_engine/device/nearest_table.cuh"

namespace query::gpu {

inline constexpr u32 nearest_threads = 256, nearest_ring = 4;
inline constexpr u32 nearest_block_rows = 2 * 16 * nearest_threads / warp_size;

struct nearest_pair {
  u32 row, column;
};
struct nearest_listed {
  u32 row;
  float limit;
};
// Counters: columns written down, rows written down.
struct nearest_lists {
  nearest_pair* pairs;
  u64* pair_count;
  u64 pair_capacity;     // what is beyond is counted only: the caller sees that there was too little room
  nearest_listed* rows;  // room for all
  u64* row_count;
};

// Dynamic shared memory of a block: the whole table where it is small, else a ring of stages.
QUERY_GPU_BOTH constexpr u32 nearest_buffers(u64 rows, u32 dims) {
  const u64 stages = divide_up(rows, nearest_columns);
  return static_cast<u32>(stages <= nearest_ring || stages * nearest_stage(dims) * 16 <= 48 * 1024 ? stages
                                                                                                   : nearest_ring);
}
QUERY_GPU_BOTH constexpr u32 nearest_shared_bytes(u64 rows, u32 dims) {
  return 16 * (nearest_head(dims) + nearest_buffers(rows, dims) * nearest_stage(dims));
}

#if QUERY_GPU_DEVICE_CODE

namespace detail {

__device__ __forceinline__ void copy_async(uint4* to, const uint4* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<u32>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <u32 Left> __device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

__device__ __forceinline__ void multiply_add(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Places in a list for the lanes that want one; all lanes call.
__device__ __forceinline__ u64 places_for(u64* count, bool want) {
  const u32 mask = __ballot_sync(all_lanes, want);
  if (mask == 0) return 0;
  const int first = __ffs(static_cast<int>(mask)) - 1;
  u64 at = 0;
  if (static_cast<int>(lane_id()) == first) at = atomicAdd(count, static_cast<u64>(__popc(mask)));
  return __shfl_sync(all_lanes, at, first) + static_cast<u64>(__popc(mask & lanes_below()));
}
__device__ __forceinline__ void note_pair(const nearest_lists& out, bool want, u32 row, u32 column) {
  const u64 at = places_for(out.pair_count, want);
  if (want && at < out.pair_capacity) out.pairs[at] = {row, column};
}

// Four numbers of a row at a multiple of four; zeros behind its end.
template <u32 Dims, u32 Align> __device__ __forceinline__ void load_four(const float* row, u32 at, float (&v)[4]) {
  if constexpr (Align >= 16 && Dims % 4 == 0) {
    if (at < Dims) {
      const float4 x = *reinterpret_cast<const float4*>(row + at);
      v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
      return;
    }
    v[0] = v[1] = v[2] = v[3] = 0;
  } else if constexpr (Align >= 8 && Dims % 2 == 0) {
#pragma unroll
    for (u32 e = 0; e < 4; e += 2) {
      const float2 x = at + e < Dims ? *reinterpret_cast<const float2*>(row + at + e) : make_float2(0, 0);
      v[e] = x.x, v[e + 1] = x.y;
    }
  } else {
#pragma unroll
    for (u32 e = 0; e < 4; ++e) v[e] = at + e < Dims ? row[at + e] : 0;
  }
}

// A row as a lane of its four holds it: scaled halves, and what its results mean.
template <u32 Steps> struct nearest_row {
  u32 hi[Steps][2],
      lo[Steps][2];            // of each sixteen dimensions, four a lane, as an mma wants them of its row g or g + 8
  float unit, margin, square;  // scale of results, twice the error, |p|^2
  u32 kind;                    // 0 as others, 1 no finite numbers, 2 too large
};
template <u32 Dims, u32 Align>
__device__ __forceinline__ void load_row(const float* row, u32 t, float (&v)[nearest_steps(Dims)][4]) {
#pragma unroll
  for (u32 s = 0; s < nearest_steps(Dims); ++s) load_four<Dims, Align>(row, 16 * s + 4 * t, v[s]);
}
template <u32 Steps>
__device__ __forceinline__ nearest_row<Steps> scaled_row(float (&v)[Steps][4], const float* middle,
                                                         const nearest_table_head& head, u32 t) {
  nearest_row<Steps> r;
  float most = 0, sum = 0;
#pragma unroll
  for (u32 s = 0; s < Steps; ++s) {
    const float4 c = reinterpret_cast<const float4*>(middle)[4 * s + t];
    v[s][0] = __fsub_rn(v[s][0], c.x), v[s][1] = __fsub_rn(v[s][1], c.y);
    v[s][2] = __fsub_rn(v[s][2], c.z), v[s][3] = __fsub_rn(v[s][3], c.w);
#pragma unroll
    for (u32 e = 0; e < 4; ++e) {
      most = fmaxf(most, fabsf(v[s][e]));
      sum = __fmaf_rn(v[s][e], v[s][e], sum);
    }
  }
#pragma unroll
  for (u32 d = 1; d < 4; d *= 2) {
    most = fmaxf(most, __shfl_xor_sync(all_lanes, most, d));
    sum = __fadd_rn(sum, __shfl_xor_sync(all_lanes, sum, d));
  }
  const bool is_finite = sum == sum && finite(most);
  i32 exponent = exponent_of(most);
  const bool exactly = is_finite && (exponent > nearest_most_exponent || head.exactly), usual = is_finite && !exactly;
  r.kind = !is_finite ? 1 : exactly ? 2 : 0;
  // Next to the table's numbers the smallest are nothing; their scale may not overflow.
  if (exponent < head.exponent - 20) exponent = head.exponent - 20;
  const float scale = usual ? power_of_two(14 - exponent) : 0.0f;
  r.unit = usual ? power_of_two(27 - exponent - head.exponent) : 1.0f;
  r.square = usual ? sum : 0.0f;
  const float p = usual ? sqrtf(sum) * 1.0001f : 0.0f, c = head.norm;
  r.margin = 2 * ((6 * Steps + 4) * 0x1p-21f * p * c + 12 * 0x1p-24f * (p + c) * (p + c));
#pragma unroll
  for (u32 s = 0; s < Steps; ++s) {
#pragma unroll
    for (u32 e = 0; e < 4; ++e) v[s][e] = usual ? __fmul_rn(v[s][e], scale) : 0.0f;
    const split_pair x = split(v[s][0], v[s][1]), y = split(v[s][2], v[s][3]);
    r.hi[s][0] = x.hi, r.hi[s][1] = y.hi;
    r.lo[s][0] = x.lo, r.lo[s][1] = y.lo;
  }
  return r;
}

// What a lane has seen of a row: the least result, the column that it is of, and the next.
struct nearest_seen {
  float best, second;
  u32 place;

  __device__ __forceinline__ void look(float x, float y, u32 column) {  // of `column` and the one behind it
    const float less = fminf(x, y), more = fmaxf(x, y);
    const u32 of_less = y < x ? column + 1 : column;
    second = fminf(fminf(second, more), fmaxf(best, less));
    place = less < best ? of_less : place;
    best = fminf(best, less);
  }
};

// The four lanes of a row meet. All lanes of the warp call.
__device__ __forceinline__ void settle(const nearest_seen& seen, float unit, float margin, float square, u32 kind,
                                       bool there, u64 row, u32 additions, u64* answers, const nearest_lists& out) {
  const u32 lane = lane_id(), t = lane % 4;
  float least = seen.best;
#pragma unroll
  for (u32 d = 1; d < 4; d *= 2) least = fminf(least, __shfl_xor_sync(all_lanes, least, d));
  // The distance, for the error of the expression itself: no more than it seems, and the error of that.
  const float error = margin * unit, distance = fmaxf(__fmaf_rn(square, unit, least), 0.0f) + error;
  float limit = least + error + 2 * static_cast<float>(additions + 3) * 0x1p-24f * distance;
  if (kind == 2) limit = __uint_as_float(0x7f800000u);
  const bool candidate = seen.best <= limit;
  const u32 quad = 0xfu << (lane & ~3u);
  const u32 candidates = __ballot_sync(all_lanes, candidate) & quad;
  const bool several = (__ballot_sync(all_lanes, seen.second <= limit) & quad) != 0;
  const bool list = there && kind != 1 && (several || kind == 2);
  const bool near = there && kind == 0 && !several && __popc(candidates) > 1;
  if (there && kind == 1) {
    // Every distance is infinite or no number: the first stays.
    if (t == 0) answers[row] = 0;
  } else if (list || near) {
    if (t == 0) answers[row] = ~0ull;
  } else if (there && candidate) {
    answers[row] = seen.place;
  }
  if (__any_sync(all_lanes, near)) note_pair(out, near && candidate, static_cast<u32>(row), seen.place);
  if (__any_sync(all_lanes, list)) {
    const u64 at = places_for(out.row_count, list && t == 0);
    if (list && t == 0) out.rows[at] = {static_cast<u32>(row), limit};
  }
}

}  // namespace detail

// answers[i] becomes the nearest column of row i, or more than any key if it is to be compared exactly. row_of(i) ->
// const float*, at multiples of Align bytes. Again: of the rows written down in `out.rows` instead. `additions`: of the
// expression, in a row.
template <u32 Dims, u32 Align, bool Again, class RowOf>
__device__ void nearest_rows(u64 n, const uint4* table, u32 additions, const RowOf& row_of, u64* answers,
                             const nearest_lists& out, uint4* shared) {
  constexpr u32 steps = nearest_steps(Dims), stage_size = nearest_stage(Dims), head_size = nearest_head(Dims);
  const nearest_table_head head = *reinterpret_cast<const nearest_table_head*>(table);
  const u32 stages = (head.rows + nearest_columns - 1) / nearest_columns, buffers = nearest_buffers(head.rows, Dims);
  const bool resident = buffers == stages;
  const u32 lane = threadIdx.x % warp_size, g = lane / 4, t = lane % 4;
  uint4* const ring = shared + head_size;
  const float* const middle = reinterpret_cast<const float*>(shared + 1);
  if constexpr (Again) n = *out.row_count;
  const u64 blocks_of_rows = divide_up(n, nearest_block_rows);
  if (blockIdx.x >= blocks_of_rows) return;

  const uint4* const from = table + head_size;
  u32 next = 0, next_buffer = 0;  // the stage to be copied next, and where to
  const auto copy_stage = [&] {
    uint4* const to = ring + next_buffer * stage_size;
    for (u32 i = threadIdx.x; i < stage_size; i += nearest_threads)
      detail::copy_async(to + i, from + u64(next) * stage_size + i);
    detail::commit_copies();
    next = next + 1 == stages ? 0 : next + 1;
    next_buffer = next_buffer + 1 == buffers ? 0 : next_buffer + 1;
  };
  for (u32 i = threadIdx.x; i < head_size; i += nearest_threads) detail::copy_async(shared + i, table + i);
  for (u32 i = 0; i < (resident ? buffers : nearest_ring - 1); ++i) copy_stage();
  if (resident)
    detail::await_copies<0>();
  else
    detail::await_copies<nearest_ring - 2>();
  __syncthreads();

  // Short rows of the next turn are on their way while these are compared.
  constexpr bool ahead = steps == 1;
  float raw[ahead ? 2 : 1][ahead ? 2 : 1][steps][4];
  const auto row_at = [&](u64 block_of_rows, u32 m, u32 h) -> const float* {
    const u64 wanted = block_of_rows * nearest_block_rows + threadIdx.x / warp_size * 32 + m * 16 + h * 8 + g;
    const u64 at = wanted < n ? wanted : n - 1;
    if constexpr (Again)
      return row_of(out.rows[at].row);
    else
      return row_of(at);
  };
  const auto load = [&](u64 block_of_rows) {
#pragma unroll
    for (u32 m = 0; m < 2; ++m)
#pragma unroll
      for (u32 h = 0; h < 2; ++h)
        detail::load_row<Dims, Align>(row_at(block_of_rows, m, h), t, raw[ahead ? m : 0][ahead ? h : 0]);
  };
  if constexpr (ahead) load(blockIdx.x);

  u32 buffer = 0;
  for (u64 block_of_rows = blockIdx.x; block_of_rows < blocks_of_rows; block_of_rows += gridDim.x) {
    const u64 first_row = block_of_rows * nearest_block_rows + threadIdx.x / warp_size * 32;
    u32 hi[2][steps][4], lo[2][steps][4];
    float unit[2][2], margin[2][2], square[2][2];
    u32 kinds = 0;  // two bits a row
    const auto number_of = [&](u32 m, u32 h) { return first_row + m * 16 + h * 8 + g; };
    const auto listed = [&](u64 at) { return out.rows[at < n ? at : 0]; };
#pragma unroll
    for (u32 m = 0; m < 2; ++m)
#pragma unroll
      for (u32 h = 0; h < 2; ++h) {
        if constexpr (!ahead) detail::load_row<Dims, Align>(row_at(block_of_rows, m, h), t, raw[0][0]);
        const auto r = detail::scaled_row(raw[ahead ? m : 0][ahead ? h : 0], middle, head, t);
        unit[m][h] = r.unit, margin[m][h] = r.margin, square[m][h] = r.square;
        kinds |= r.kind << 2 * (2 * m + h);
#pragma unroll
        for (u32 s = 0; s < steps; ++s)
#pragma unroll
          for (u32 e = 0; e < 2; ++e) hi[m][s][2 * e + h] = r.hi[s][e], lo[m][s][2 * e + h] = r.lo[s][e];
      }
    if constexpr (ahead) load(block_of_rows + gridDim.x);

    const float infinity = __uint_as_float(0x7f800000u);
    detail::nearest_seen seen[2][2];  // Again: `second` is the limit
#pragma unroll
    for (u32 m = 0; m < 2; ++m)
#pragma unroll
      for (u32 h = 0; h < 2; ++h) {
        seen[m][h] = {infinity, infinity, 0};
        if constexpr (Again) seen[m][h].second = number_of(m, h) < n ? listed(number_of(m, h)).limit : -infinity;
      }

#pragma unroll 1
    for (u32 stage = 0; stage < stages; ++stage) {
      if (!resident) {
        detail::await_copies<nearest_ring - 2>();
        __syncthreads();
        copy_stage();
      }
      const uint4* const b = ring + buffer * stage_size;
      buffer = buffer + 1 == buffers ? 0 : buffer + 1;
      float main[2][2][4] = {}, rest[2][2][4] = {};
#pragma unroll
      for (u32 s = 0; s < steps; ++s)
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
          const uint4 c = b[(j * steps + s) * warp_size + lane];
#pragma unroll
          for (u32 m = 0; m < 2; ++m) {
            detail::multiply_add(main[m][j], hi[m][s], c.x, c.y);
            detail::multiply_add(rest[m][j], lo[m][s], c.x, c.y);
            detail::multiply_add(rest[m][j], hi[m][s], c.z, c.w);
          }
        }
      u32 hits = 0;
#pragma unroll
      for (u32 j = 0; j < 2; ++j) {
        const float2 squares = reinterpret_cast<const float2*>(b + 2 * steps * warp_size)[j * 4 + t];
        const u32 column = stage * nearest_columns + j * 8 + 2 * t;
#pragma unroll
        for (u32 m = 0; m < 2; ++m)
#pragma unroll
          for (u32 h = 0; h < 2; ++h) {
            const float x = __fadd_rn(__fmaf_rn(squares.x, unit[m][h], main[m][j][2 * h]), rest[m][j][2 * h]);
            const float y = __fadd_rn(__fmaf_rn(squares.y, unit[m][h], main[m][j][2 * h + 1]), rest[m][j][2 * h + 1]);
            if constexpr (Again)
              hits |= ((x <= seen[m][h].second ? 1u : 0u) | (y <= seen[m][h].second ? 2u : 0u))
                      << 2 * (4 * j + 2 * m + h);
            else
              seen[m][h].look(x, y, column);
          }
      }
      if constexpr (Again) {
        while (__any_sync(all_lanes, hits != 0)) {
          const u32 bit = hits ? static_cast<u32>(__ffs(static_cast<int>(hits)) - 1) : 0;
          const u32 column = stage * nearest_columns + bit / 8 * 8 + 2 * t + bit % 2, m = bit / 4 % 2, h = bit / 2 % 2;
          const bool want = hits != 0 && column < head.rows && number_of(m, h) < n;
          detail::note_pair(out, want, want ? listed(number_of(m, h)).row : 0, column);
          hits &= hits - 1;
        }
      }
    }
    if constexpr (!Again) {
#pragma unroll
      for (u32 m = 0; m < 2; ++m)
#pragma unroll
        for (u32 h = 0; h < 2; ++h)
          detail::settle(seen[m][h], unit[m][h], margin[m][h], square[m][h], kinds >> 2 * (2 * m + h) & 3,
                         number_of(m, h) < n, number_of(m, h), additions, answers, out);
    }
  }
  detail::await_copies<0>();
}

// distance(row, column) -> float: the expression as it was written.
template <class Distance>
__device__ void compare_exactly(const nearest_lists& in, u64* answers, u64* too_many, const Distance& distance) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && *in.pair_count > in.pair_capacity) *too_many = 1;
  const u64 n = smaller(*in.pair_count, in.pair_capacity);
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += gridDim.x * u64(blockDim.x)) {
    const nearest_pair p = in.pairs[i];
    const float d = distance(p.row, p.column);
    // Distances are not negative, so their bits have their order; no number is behind them all, but where it is the
    // first.
    const u64 bits = d != d ? (p.column == 0 ? 0u : 0x7fffffffu) : __float_as_uint(d);
    atomicMin(answers + p.row, bits << 32 | p.column);
  }
}

#endif

}  // namespace query::gpu
