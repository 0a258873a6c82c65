// nearest_rows for long rows and large tables on sm_90a: the same search by wgmma, which reads the table from shared
// memory by itself.
//
// Two groups of four warps multiply, each 64 rows by the 64 columns of a stage; while one compares what came out, the
// other's products fill the tensor cores. A ninth warp brings the stages, by bulk copies into a ring: `full` says that
// a stage is there, `empty` that both groups have done with it. Every stage that is waited for is brought, and every
// one brought is waited for by all.
#pragma once

#include "gpu_engine/device/nearest.cuh"

namespace query::gpu {

inline constexpr u32 nearest_wide_threads = 2 * 128 + warp_size, nearest_wide_rows = 128, nearest_wide_ring = 4;

QUERY_GPU_BOTH constexpr u32 nearest_wide_shared_bytes(u32 dims) {
  return 128 + 16 * nearest_head(dims) + 112 + nearest_wide_ring * nearest_wide_stage(dims) * 16;
}

#if QUERY_GPU_DEVICE_CODE

namespace detail {

__device__ __forceinline__ u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void init_barrier(u64* b, u32 count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(u64* b) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(shared_address(b)) : "memory");
}
__device__ __forceinline__ void await(u64* b, u32 parity) {
  asm volatile(
      "{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra done; bra again; done: }" ::"r"(
          shared_address(b)),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void bring(void* to, const void* from, u32 bytes, u64* full) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" ::"r"(shared_address(full)),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(full))
               : "memory");
}

// Columns side by side, eight at 128 bytes; the second eight of sixteen dimensions behind all columns of the first.
__device__ __forceinline__ u64 matrix_of(const uint4* at) {
  return u64(shared_address(at) >> 4 & 0x3fffu) | u64(nearest_wide_columns) << 16 | u64(8) << 32;
}

// Nothing that reads the sums comes before this.
__device__ __forceinline__ void settled(float (&d)[32]) {
#pragma unroll
  for (u32 i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <bool Add> __device__ __forceinline__ void multiply_wide(float (&d)[32], const u32 (&a)[4], u64 b) {
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
      "%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, p, 1, 1, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(Add ? 1 : 0));
}

}  // namespace detail

// As nearest_rows, of a table that prepare_nearest<Dims, true> made; blocks of nearest_wide_threads, and memory at a
// multiple of 128 bytes.
template <u32 Dims, u32 Align, bool Again, class RowOf>
__device__ void nearest_wide_rows_of(u64 n, const uint4* table, u32 additions, const RowOf& row_of, u64* answers,
                                     const nearest_lists& out, uint4* shared) {
  constexpr u32 steps = nearest_steps(Dims), stage_size = nearest_wide_stage(Dims), head_size = nearest_head(Dims);
  const nearest_table_head head = *reinterpret_cast<const nearest_table_head*>(table);
  const u32 stages = (head.rows + nearest_wide_columns - 1) / nearest_wide_columns, warp = threadIdx.x / warp_size,
            lane = threadIdx.x % warp_size;
  if constexpr (Again) n = *out.row_count;
  const u64 blocks_of_rows = divide_up(n, nearest_wide_rows);
  if (blockIdx.x >= blocks_of_rows) return;
  auto* const full = reinterpret_cast<u64*>(shared);
  auto* const empty = full + nearest_wide_ring;
  uint4* const top = shared + 8;
  uint4* const ring = top + (head_size + 7) / 8 * 8;
  for (u32 i = threadIdx.x; i < head_size; i += nearest_wide_threads) top[i] = table[i];
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < nearest_wide_ring; ++i) {
      detail::init_barrier(full + i, 1);
      detail::init_barrier(empty + i, 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  if (warp == 8) {
    if (lane != 0) return;
    u32 at = 0, round = 0;
    for (u64 block_of_rows = blockIdx.x; block_of_rows < blocks_of_rows; block_of_rows += gridDim.x)
      for (u32 stage = 0; stage < stages; ++stage) {
        if (round > 0) detail::await(empty + at, (round - 1) & 1);
        detail::bring(ring + at * stage_size, table + head_size + u64(stage) * stage_size, stage_size * 16, full + at);
        if (++at == nearest_wide_ring) at = 0, ++round;
      }
    return;
  }

  const u32 g = lane / 4, t = lane % 4;
  const float infinity = __uint_as_float(0x7f800000u);
  const float* const middle = reinterpret_cast<const float*>(top + 1);
  u32 at = 0, parity = 0;
  float main[32] = {}, rest[32] = {};
  for (u64 block_of_rows = blockIdx.x; block_of_rows < blocks_of_rows; block_of_rows += gridDim.x) {
    const u64 first = block_of_rows * nearest_wide_rows + warp * 16 + g;  // and the row eight behind it
    u32 hi[steps][4], lo[steps][4];
    float unit[2], margin[2], square[2];
    u32 kind[2];
    detail::nearest_seen seen[2];
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
      const u64 number = first + 8 * h < n ? first + 8 * h : n - 1;
      float v[steps][4];
      if constexpr (Again)
        detail::load_row<Dims, Align>(row_of(out.rows[number].row), t, v);
      else
        detail::load_row<Dims, Align>(row_of(number), t, v);
      const auto r = detail::scaled_row(v, middle, head, t);
      unit[h] = r.unit, margin[h] = r.margin, square[h] = r.square, kind[h] = r.kind;
#pragma unroll
      for (u32 s = 0; s < steps; ++s)
#pragma unroll
        for (u32 e = 0; e < 2; ++e) hi[s][2 * e + h] = r.hi[s][e], lo[s][2 * e + h] = r.lo[s][e];
      seen[h] = {infinity, infinity, 0};
      if constexpr (Again) seen[h].second = first + 8 * h < n ? out.rows[number].limit : -infinity;
    }
#pragma unroll 1
    for (u32 stage = 0; stage < stages; ++stage) {
      const uint4* const b = ring + at * stage_size;
      detail::await(full + at, parity);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (u32 s = 0; s < steps; ++s) {
        const u64 high = detail::matrix_of(b + 2 * s * nearest_wide_columns),
                  low = detail::matrix_of(b + 2 * (steps + s) * nearest_wide_columns);
        if (s == 0) {
          detail::multiply_wide<false>(main, hi[s], high);
          detail::multiply_wide<false>(rest, lo[s], high);
        } else {
          detail::multiply_wide<true>(main, hi[s], high);
          detail::multiply_wide<true>(rest, lo[s], high);
        }
        detail::multiply_wide<true>(rest, hi[s], low);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      detail::settled(main);
      detail::settled(rest);
      u32 hits = 0;
      const auto* const squares = reinterpret_cast<const float2*>(b + 4 * steps * nearest_wide_columns);
#pragma unroll
      for (u32 j = 0; j < 8; ++j) {
        const float2 c = squares[j * 4 + t];
        const u32 column = stage * nearest_wide_columns + j * 8 + 2 * t;
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
          const float x = __fadd_rn(__fmaf_rn(c.x, unit[h], main[4 * j + 2 * h]), rest[4 * j + 2 * h]);
          const float y = __fadd_rn(__fmaf_rn(c.y, unit[h], main[4 * j + 2 * h + 1]), rest[4 * j + 2 * h + 1]);
          if constexpr (Again)
            hits |= ((x <= seen[h].second ? 1u : 0u) | (y <= seen[h].second ? 2u : 0u)) << (4 * j + 2 * h);
          else
            seen[h].look(x, y, column);
        }
      }
      __syncwarp();
      if (lane == 0) detail::arrive(empty + at);
      if (++at == nearest_wide_ring) at = 0, parity ^= 1;
      if constexpr (Again) {
        while (__any_sync(all_lanes, hits != 0)) {
          const u32 bit = hits ? static_cast<u32>(__ffs(static_cast<int>(hits)) - 1) : 0;
          const u32 column = stage * nearest_wide_columns + bit / 4 * 8 + 2 * t + bit % 2;
          const u64 number = first + bit / 2 % 2 * 8;
          const bool want = hits != 0 && column < head.rows && number < n;
          detail::note_pair(out, want, want ? out.rows[number].row : 0, column);
          hits &= hits - 1;
        }
      }
    }
    if constexpr (!Again) {
#pragma unroll
      for (u32 h = 0; h < 2; ++h)
        detail::settle(seen[h], unit[h], margin[h], square[h], kind[h], first + 8 * h < n, first + 8 * h, additions,
                       answers, out);
    }
  }
}

#endif

}  // namespace query::gpu
