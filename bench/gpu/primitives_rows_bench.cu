// Rows of 12 to 64 bytes made of a column, all of them and half of them: written by whole warps (row_writes.cuh) and, beside them, by the
// thread that made each; part of primitives_bench.cu.
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/row_writes.cuh"

#include "primitives_timing.cuh"

namespace query::gpu::bench {

void wide_rows();

namespace {

template <class Word, u32 Words>
struct row_of {
  Word w[Words];
  __device__ bool operator==(const row_of& o) const {
    bool same = true;
#pragma unroll
    for (u32 k = 0; k < Words; ++k) same = same && w[k] == o.w[k];
    return same;
  }
};

template <class Row>
__device__ __forceinline__ Row made_row(const u64* x, u64 i) {
  using word = std::remove_reference_t<decltype(Row{}.w[0])>;
  constexpr u32 words = sizeof(Row) / sizeof(word);
  Row r;
  r.w[0] = word(i);
#pragma unroll
  for (u32 k = 1; k < words; ++k) r.w[k] = word(x[i] * k);
  return r;
}

template <class Row, bool Together>
__global__ void __launch_bounds__(256) write_all(const u64* x, u64 n, Row* out) {
  if constexpr (Together) {
    write_rows<256>(n, out, [&](u64 i) { return made_row<Row>(x, i); });
  } else {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) out[i] = made_row<Row>(x, i);
  }
}

template <class Row, bool Together>
__global__ void __launch_bounds__(compact_policy<Row>::threads, compact_policy<Row>::blocks)
    keep_half(const u64* x, u64 n, void* temp, u64* count, Row* out) {
  const auto keep = [=](u64 i, Row& row) {
    row = made_row<Row>(x, i);
    return x[i] >> 63 == 0;
  };
  if constexpr (Together) compact<compact_policy<Row>, Row>(n, temp, count, keep, rows_as_they_lie<Row>{out});
  else compact<compact_policy<Row>, Row>(n, temp, count, keep, [=](u64 at, const Row& row) { out[at] = row; });
}

template <class Row>
void measure(const char* name, const memory<u64>& x, u64 n) {
  using policy = compact_policy<Row>;
  const memory<Row> alone(n), together(n);
  const memory<u64> count(1);
  const memory<u8> temp(compact_temp_bytes<policy>(n));
  const auto all = [&](auto kernel, const memory<Row>& out) {
    return median_ms([&] { kernel<<<resident(kernel, 256) * 16, 256>>>(x.data(), n, out.data()); });
  };
  const u64 bytes = n * (8 + sizeof(Row));
  const double by_threads = all(write_all<Row, false>, alone), by_warps = all(write_all<Row, true>, together);
  report(name, "by threads", n, bytes, by_threads);
  report(name, "by warps", n, bytes, by_warps, by_threads);
  expect_same(name, "by warps", together, alone, n);

  const auto half = [&](auto kernel, const memory<Row>& out) {
    const u64 blocks = compact_blocks<policy>(n, resident(kernel, policy::threads));
    return median_ms([&] {
      cudaMemsetAsync(temp.data(), 0, temp.bytes());
      kernel<<<unsigned(blocks), policy::threads>>>(x.data(), n, temp.data(), count.data(), out.data());
    });
  };
  const double kept_by_threads = half(keep_half<Row, false>, alone), kept_by_words = half(keep_half<Row, true>, together);
  u64 kept = 0;
  QUERY_BENCH_CUDA(cudaMemcpy(&kept, count.data(), 8, cudaMemcpyDeviceToHost));
  const u64 kept_bytes = n * 8 + kept * sizeof(Row);
  report(name, "half, by threads", n, kept_bytes, kept_by_threads);
  report(name, "half, by words", n, kept_bytes, kept_by_words, kept_by_threads);
  expect_same(name, "half, by words", together, alone, kept);
}

}  // namespace

void wide_rows() {
  const u64 n = rows(u64(1) << 26);
  const memory<u64> x(n);
  fill(x, 1);
  measure<row_of<u32, 3>>("rows of 12 bytes", x, n);
  measure<row_of<u64, 2>>("rows of 16 bytes", x, n);
  measure<row_of<u64, 3>>("rows of 24 bytes", x, n);
  measure<row_of<u64, 5>>("rows of 40 bytes", x, n);
  measure<row_of<u64, 8>>("rows of 64 bytes", x, n);
}

}  // namespace query::gpu::bench
