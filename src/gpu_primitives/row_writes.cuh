// Output rows of several words, side by side in memory. Where each thread writes its own row, every store of a warp touches every sector
// of the warp's rows, and the L2 cache takes as many partial writes of a sector as it holds words. Here a warp puts its rows into shared
// memory and writes neighbouring words together.
//
//   auto make = [&](u64 at, u64 probe_row, u64 build_row) { return row; };
//   expand_matches(outputs, list, entries, build_rows, whole_warp_rows<Row, 256, decltype(make)>{out, make});
//
//   write_rows<256>(n, out, [&](u64 i) { return row; });   // all of them, one after the other
//   copy_rows<256>(n, rows, out, [&](u64 j) { return order[j]; });   // rows that lie in memory as they are written
//
// Stands where a primitive takes an `emit`: takes_whole_warps says that it wants whole warps.
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

// Is there something to win for rows of such a size? Those of joins share shared memory with what else a block keeps there.
QUERY_GPU_BOTH constexpr bool rows_go_by_warps(u64 bytes, u64 align) { return bytes > 8 && bytes <= 64 && align >= 4; }
// The same where a block keeps nothing else there.
QUERY_GPU_BOTH constexpr bool rows_alone_go_by_warps(u64 bytes, u64 align) { return bytes > 8 && bytes <= 128 && align >= 4; }
// The same where rows lie in shared memory already (compact): 16 bytes are one store of a thread, and neighbours' stores lie side by side.
QUERY_GPU_BOTH constexpr bool staged_rows_go_by_words(u64 bytes, u64 align) { return bytes > 16 && align >= 4; }

#if QUERY_GPU_DEVICE_CODE

namespace detail {
template <bool Long>
struct row_word {
  using type = u64;
};
template <>
struct row_word<false> {
  using type = u32;
};
}  // namespace detail

// Stands where compact takes a `write`: its items are the rows, and lie side by side in shared memory already.
template <class Row>
struct rows_as_they_lie {
  static_assert(alignof(Row) >= 4);
  Row* out;

  // Called by a whole warp: rows [0, count) of `rows` become those from `at` on.
  __device__ __forceinline__ void copy(u64 at, const Row* rows, u32 count) const {
    using word = typename detail::row_word<alignof(Row) >= 8>::type;
    const word* const from = reinterpret_cast<const word*>(rows);
    word* const to = reinterpret_cast<word*>(out + at);
    const u32 words = count * u32(sizeof(Row) / sizeof(word));
#pragma unroll 4
    for (u32 i = lane_id(); i < words; i += warp_size) to[i] = from[i];
  }
};

template <class Write>
inline constexpr bool copies_rows = false;
template <class Row>
inline constexpr bool copies_rows<rows_as_they_lie<Row>> = true;

// Threads: of the block.
template <class Row, u32 Threads, class Make>
struct whole_warp_rows {
  static_assert(rows_alone_go_by_warps(sizeof(Row), alignof(Row)));
  using row_type = Row;
  Row* out;
  Make make;

  // Called by whole warps. The lanes that have a row come first, and `at` goes up by one a lane, whether it has one or not.
  template <class... Args>
  __device__ __forceinline__ void operator()(bool mine, u64 at, const Args&... args) const {
    write(mine, at, [&] { return make(at, args...); });
  }
  // The same of a row that is made already.
  __device__ __forceinline__ void put(bool mine, u64 at, const Row& row) const {
    write(mine, at, [&]() -> const Row& { return row; });
  }

 private:
  template <class Made>
  __device__ __forceinline__ void write(bool mine, u64 at, const Made& made) const {
    using word = typename detail::row_word<alignof(Row) >= 8>::type;
    constexpr u32 words = sizeof(Row) / sizeof(word);
    __shared__ __align__(16) unsigned char stage[Threads * sizeof(Row)];
    Row* const rows = reinterpret_cast<Row*>(stage) + threadIdx.x / warp_size * warp_size;
    const u32 lane = lane_id(), count = static_cast<u32>(__popc(static_cast<int>(__ballot_sync(all_lanes, mine)))) * words;
    if (mine) rows[lane] = made();
    __syncwarp();
    const word* const from = reinterpret_cast<const word*>(rows);
    word* const to = reinterpret_cast<word*>(out + (at - lane));
#pragma unroll
    for (u32 w = 0; w < words; ++w) {
      const u32 i = w * warp_size + lane;
      if (i < count) to[i] = from[i];
    }
    __syncwarp();  // read before the next rows come
  }
};

template <class Emit>
inline constexpr bool takes_whole_warps = false;
template <class Row, u32 Threads, class Make>
inline constexpr bool takes_whole_warps<whole_warp_rows<Row, Threads, Make>> = true;

// out[i] = make(i) for all i < n, by any number of blocks of Threads threads; called by all of them. By warps where that pays.
template <u32 Threads, class Row, class Make>
__device__ __forceinline__ void write_rows(u64 n, Row* out, Make make) {
  const u64 first = u64(blockIdx.x) * Threads, all = u64(gridDim.x) * Threads;
  if constexpr (rows_alone_go_by_warps(sizeof(Row), alignof(Row))) {
    const whole_warp_rows<Row, Threads, Make> write{out, make};
    for (u64 begin = first + threadIdx.x / warp_size * warp_size; begin < n; begin += all) write(begin + lane_id() < n, begin + lane_id());
  } else {
    for (u64 i = first + threadIdx.x; i < n; i += all) out[i] = make(i);
  }
}

namespace detail {
// Neighbouring lanes copy neighbouring words, of the field or the next: reads are of whole sectors, writes of whole warps where the field
// is the row.
template <u32 Threads, u32 Offset, class Word, class Field, class Row, class At>
__device__ __forceinline__ void copy_field_words(u64 n, const Field* fields, Row* out, const At& row_at) {
  constexpr u32 words = sizeof(Field) / sizeof(Word), row = sizeof(Row) / sizeof(Word), batch = 4;  // loads on their way together
  const Word* const from = reinterpret_cast<const Word*>(fields);
  Word* const to = reinterpret_cast<Word*>(out) + Offset / sizeof(Word);
  const u64 all = n * words, step = u64(gridDim.x) * Threads;
  for (u64 begin = u64(blockIdx.x) * Threads + threadIdx.x; begin < all; begin += step * batch) {
    Word w[batch];
#pragma unroll
    for (u32 b = 0; b < batch; ++b) {
      const u64 x = begin + b * step, j = x / words;
      if (x < all) w[b] = from[row_at(j) * words + (x - j * words)];
    }
#pragma unroll
    for (u32 b = 0; b < batch; ++b) {
      const u64 x = begin + b * step, j = x / words;
      if (x < all) to[j * row + (x - j * words)] = w[b];
    }
  }
}
}  // namespace detail

// The bytes from Offset on of out[j] become fields[row_at(j)], for all j < n: rows that lie a field a column, put together. For rows of
// bytes; others are put together by write_rows.
template <u32 Threads, u32 Offset, class Field, class Row, class At>
__device__ __forceinline__ void copy_fields(u64 n, const Field* fields, Row* out, const At& row_at) {
  const u64 places = reinterpret_cast<u64>(fields) | reinterpret_cast<u64>(out);
  if constexpr ((sizeof(Field) | sizeof(Row) | Offset) % 4 == 0) {
    if (places % 4 == 0) return detail::copy_field_words<Threads, Offset, u32>(n, fields, out, row_at);
  }
  if constexpr ((sizeof(Field) | sizeof(Row) | Offset) % 2 == 0) {
    if (places % 2 == 0) return detail::copy_field_words<Threads, Offset, u16>(n, fields, out, row_at);
  }
  detail::copy_field_words<Threads, Offset, u8>(n, fields, out, row_at);
}

// A field of rows that lie a field a column, of `rows` values, and where in a row it begins.
template <u32 Offset, class Field>
struct field_column {
  using field = Field;
  static constexpr u32 offset = Offset;
  const Field* values;
  u64 rows;
};

namespace detail {
constexpr u32 gathered_bytes = 32 << 10;  // of shared memory, at most

// Rows that a warp puts together at a time, a power of two; 0: too wide.
template <u32 Threads, class Row>
QUERY_GPU_BOTH constexpr u32 gathered_rows() {
  u32 rows = warp_size;
  while (rows && Threads / warp_size * rows * sizeof(Row) > gathered_bytes) rows /= 2;
  return rows;
}
// The largest word of which field, offset and row are multiples.
template <class Column, class Row>
QUERY_GPU_BOTH constexpr u32 gathered_unit() {
  constexpr u32 all = u32(sizeof(typename Column::field)) | Column::offset | u32(sizeof(Row));
  return all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
}

// One field of a warp's rows, to their places in shared memory: neighbouring lanes read neighbouring words as they lie aligned in the
// column, and put down what of them is the field's. `mine`: the row of lane r's place, `count` of which there are.
template <u32 Rows, class Row, class Column>
__device__ __forceinline__ void gather_field(const Column& column, u64 mine, u32 count, u8* rows) {
  constexpr u32 size = sizeof(typename Column::field), unit = gathered_unit<Column, Row>(), words = (size + (4 - unit) + 3) / 4,
                turns = (Rows * words + warp_size - 1) / warp_size, batch = turns < 4 ? turns : 4;  // loads on their way together
  using piece = typename unsigned_of<unit>::type;
  const u64 first = reinterpret_cast<u64>(column.values), end = first + column.rows * size;
#pragma unroll 1
  for (u32 turn = 0; turn < turns; turn += batch) {
    u32 word[batch], at[batch];  // `at`: of the word's first byte in the rows, counted from one word before them
    int place[batch];            // the same, in its field
#pragma unroll
    for (u32 b = 0; b < batch; ++b) {
      const u32 x = (turn + b) * warp_size + lane_id(), r = x / words;
      const u64 value = first + __shfl_sync(all_lanes, mine, static_cast<int>(r % warp_size)) * size,
                from = (value & ~u64(3)) + (x - r * words) * 4;
      place[b] = r < count && r < Rows ? static_cast<int>(from - value) : static_cast<int>(size);
      at[b] = r * u32(sizeof(Row)) + Column::offset + 4 + static_cast<u32>(place[b]);
      if (place[b] >= static_cast<int>(size)) continue;
      if (from >= first && from + 4 <= end) {
        word[b] = __ldg(reinterpret_cast<const u32*>(from));
      } else {  // a word that the column's memory begins or ends in
        word[b] = 0;
        for (u32 k = 0; k < 4; ++k)
          if (from + k >= first && from + k < end) word[b] |= u32(*reinterpret_cast<const u8*>(from + k)) << 8 * k;
      }
    }
#pragma unroll
    for (u32 b = 0; b < batch; ++b) {
#pragma unroll
      for (u32 k = 0; k < 4; k += unit) {
        const int x = place[b] + static_cast<int>(k);
        if (x >= 0 && x < static_cast<int>(size)) *reinterpret_cast<piece*>(rows + at[b] + k - 4) = static_cast<piece>(word[b] >> 8 * k);
      }
    }
  }
}

template <u32 Threads, class Row, class At, class... Columns>
__device__ __forceinline__ void gather_by_warps(u64 n, Row* out, const At& row_at, const Columns&... columns) {
  constexpr u32 together = gathered_rows<Threads, Row>(), warps = Threads / warp_size;
  __shared__ __align__(16) u8 stage[warps * together * sizeof(Row)];
  u8* const rows = stage + threadIdx.x / warp_size * (together * sizeof(Row));
  const u64 step = u64(gridDim.x) * warps * together;
  for (u64 begin = (u64(blockIdx.x) * warps + threadIdx.x / warp_size) * together; begin < n; begin += step) {
    const u32 count = static_cast<u32>(smaller(n - begin, u64(together)));
    const u64 mine = lane_id() < count ? row_at(begin + lane_id()) : 0;
    (gather_field<together, Row>(columns, mine, count, rows), ...);
    __syncwarp();
    u8* const to = reinterpret_cast<u8*>(out + begin);
    const u32 bytes = count * u32(sizeof(Row));
    if (reinterpret_cast<u64>(to) % 4 == 0) {
#pragma unroll 4
      for (u32 i = lane_id(); i < bytes / 4; i += warp_size) reinterpret_cast<u32*>(to)[i] = reinterpret_cast<const u32*>(rows)[i];
      for (u32 i = bytes / 4 * 4 + lane_id(); i < bytes; i += warp_size) to[i] = rows[i];
    } else {
      for (u32 i = lane_id(); i < bytes; i += warp_size) to[i] = rows[i];
    }
    __syncwarp();  // read before the next rows come
  }
}
}  // namespace detail

// The row at `row_at(j)` of columns becomes out[j], for all j < n, by any number of blocks of Threads threads; called by all of them. For
// rows of bytes, whose fields no store of words may write; others are put together by write_rows. A warp puts some rows together in
// shared memory (32 KiB a block at most) and writes whole words: fields written one after the other touch each sector several times.
// That is what remains for rows wider than a warp's part of the memory, and for columns that begin off their words.
template <u32 Threads, class Row, class At, class... Columns>
__device__ __forceinline__ void gather_fields(u64 n, Row* out, const At& row_at, const Columns&... columns) {
  constexpr u32 together = detail::gathered_rows<Threads, Row>();
  if constexpr (together > 0 && together * sizeof(Row) % 4 == 0) {
    if (((reinterpret_cast<u64>(columns.values) % detail::gathered_unit<Columns, Row>() == 0) && ...))
      return detail::gather_by_warps<Threads>(n, out, row_at, columns...);
  }
  (copy_fields<Threads, Columns::offset>(n, columns.values, out, row_at), ...);
}

// out[j] = rows[row_at(j)] for all j < n, of rows that are copied as they lie, by any number of blocks of Threads threads; called by all of
// them. Rows of an alignment below four (records of bytes) are copied by words where both tables begin at one: byte by byte they take ten
// times as long.
template <u32 Threads, class Row, class At>
__device__ __forceinline__ void copy_rows(u64 n, const Row* rows, Row* out, const At& row_at) {
  if constexpr (sizeof(Row) > 16 && sizeof(Row) % 16 == 0 && alignof(Row) >= 16) {
    detail::copy_field_words<Threads, 0, uint4>(n, rows, out, row_at);
  } else if constexpr (sizeof(Row) > 16 && sizeof(Row) % 8 == 0 && alignof(Row) >= 8) {
    detail::copy_field_words<Threads, 0, u64>(n, rows, out, row_at);
  } else if constexpr (sizeof(Row) > 8 || alignof(Row) < 4) {
    copy_fields<Threads, 0>(n, rows, out, row_at);  // the row is its own only field
  } else {
    for (u64 j = u64(blockIdx.x) * Threads + threadIdx.x; j < n; j += u64(gridDim.x) * Threads) out[j] = rows[row_at(j)];
  }
}

#endif

}  // namespace query::gpu
