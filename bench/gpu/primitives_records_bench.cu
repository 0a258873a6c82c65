// Sorts records of 100 bytes by a key of 10, as the sort benchmark has them; part of primitives_bench.cu.
//
// The key is a word of 2 bytes and one of 8. Row numbers are sorted by the first, then, stably, by the second, and the records follow
// once, to their places. CUB does the same with its sort of pairs.
#include "gpu_primitives/radix_sort.cuh"

#include "must_table.hpp"
#include "primitives_peers.hpp"
#include "primitives_timing.cuh"

namespace query::gpu::bench {

void record_sorts();

namespace {

constexpr u32 record_words = 25;  // of 4 bytes

struct key_parts {
  u64 high;
  u16 low;
  __device__ bool operator<(const key_parts& o) const { return high != o.high ? high < o.high : low < o.low; }
};

// Bytes compare from the first to the last.
__device__ __forceinline__ key_parts key_of(const u32* record) {
  const auto reversed = [](u32 word) { return __byte_perm(word, 0, 0x0123); };
  return {u64(reversed(record[0])) << 32 | reversed(record[1]), u16(reversed(record[2]) >> 16)};
}

__global__ void take_keys(const u32* records, u64 n, u64* high, u16* low) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    const key_parts key = key_of(records + i * record_words);
    high[i] = key.high;
    low[i] = key.low;
  }
}

constexpr u32 moved_together = 128;  // records a block

// A warp writes whole lines of the result; all its loads are on their way before the first is waited for.
__global__ __launch_bounds__(256) void move_records(const u32* records, const u32* order, u64 n, u32* out) {
  constexpr u32 tile = moved_together, loads = (tile * record_words + 255) / 256;
  __shared__ u32 rows[tile];
  const u64 first = blockIdx.x * u64(tile);
  const u32 here = u32(smaller(n - first, u64(tile)));
  if (threadIdx.x < here) rows[threadIdx.x] = order[first + threadIdx.x];
  __syncthreads();
  u32 word[loads];
#pragma unroll
  for (u32 j = 0; j < loads; ++j) {
    const u32 w = threadIdx.x + j * 256;
    if (w < here * record_words) word[j] = records[u64(rows[w / record_words]) * record_words + w % record_words];
  }
#pragma unroll
  for (u32 j = 0; j < loads; ++j) {
    const u32 w = threadIdx.x + j * 256;
    if (w < here * record_words) out[first * record_words + w] = word[j];
  }
}

__global__ void take_by_order(const u64* high, const u32* order, u64 n, u64* out) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) out[i] = high[order[i]];
}

__global__ void number_rows(u32* rows, u64 n) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) rows[i] = u32(i);
}

__global__ void count_descents(const u32* records, u64 n, u64* wrong) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i + 1 < n; i += u64(gridDim.x) * blockDim.x) {
    if (key_of(records + (i + 1) * record_words) < key_of(records + i * record_words)) atomicAdd(wrong, u64(1));
  }
}

template <class Policy, class Key>
__global__ __launch_bounds__(Policy::histogram_threads) void count(const Key* x, u64 n, void* temp) {
  radix_histogram<Policy, 8 * sizeof(Key)>(n, temp, [=](u64 i) { return x[i]; });
}

// `before` is the order so far; null: the rows' own.
template <class Policy, class Key>
__global__ __launch_bounds__(Policy::threads, Policy::blocks) void sweep(u32 pass, const Key* x, const u32* before, u64 n, void* temp,
                                                                         radix_buffers<Key, u32> between, u32* order) {
  extern __shared__ __align__(16) u8 shared[];
  const auto row_of = [=](u64 i) { return before == nullptr ? u32(i) : before[i]; };
  radix_sweep<Policy, 8 * sizeof(Key), Key, u32, u32>(
      pass, n, temp, between, shared, [=](u64 i) { return x[row_of(i)]; }, row_of, [](u64, Key) {},
      [=](u64 at, u32 row) { order[at] = row; });
}

template <class Key>
void sort_rows(const memory<Key>& x, u64 n, const u32* before, const memory<u8>& temp, const radix_buffers<Key, u32>& between, u32* order) {
  using policy = radix_policy<Key, u32>;
  const u32 shared = radix_shared_bytes<policy, Key, u32>();
  static const u64 count_resident = resident(count<policy, Key>, policy::histogram_threads);
  static const u64 raised = resident(sweep<policy, Key>, policy::threads, shared);
  (void)raised;
  cudaMemsetAsync(temp.data(), 0, radix_temp_bytes<policy, u32>(n));
  // Digits are counted in any order of the rows.
  count<policy, Key><<<unsigned(radix_histogram_blocks<policy>(n, count_resident)), policy::histogram_threads>>>(x.data(), n, temp.data());
  for (u32 pass = 0; pass < sizeof(Key); ++pass) {
    const unsigned blocks = unsigned(radix_sweep_blocks<policy>(n));
    sweep<policy, Key><<<blocks, policy::threads, shared>>>(pass, x.data(), before, n, temp.data(), between, order);
  }
}

}  // namespace

void record_sorts() {
  const u64 n = rows(u64(1) << 26), words = n * record_words;
  const memory<u32> records(words), sorted(words), order(n), peer_order(n), some_rows(n), more_rows(n);
  const memory<u64> high(n), more_high(n), other_high(n);
  const memory<u16> low(n), more_low(n), other_low(n);
  fill(records, 11);
  const auto move = [&](const u32* by) {
    move_records<<<unsigned(divide_up(n, moved_together)), 256>>>(records.data(), by, n, sorted.data());
  };
  const auto expect_sorted = [&](const char* variant) {
    const memory<u64> wrong(1);
    QUERY_BENCH_CUDA(cudaMemset(wrong.data(), 0, 8));
    count_descents<<<2048, 256>>>(sorted.data(), n, wrong.data());
    u64 count = 0;
    QUERY_BENCH_CUDA(cudaMemcpy(&count, wrong.data(), 8, cudaMemcpyDeviceToHost));
    if (count != 0) std::printf("WRONG sort_records %s: %llu records come before a smaller one\n", variant, count);
  };
  double peer_ms;
  {
    const auto by_low = [&](void* temp, std::size_t& bytes) {
      peers::sort_pairs(temp, bytes, low.data(), more_low.data(), some_rows.data(), more_rows.data(), n, true);
    };
    const auto by_high = [&](void* temp, std::size_t& bytes) {
      const auto in = reinterpret_cast<const std::uint64_t*>(more_high.data());
      const auto out = reinterpret_cast<std::uint64_t*>(other_high.data());
      peers::sort_pairs(temp, bytes, in, out, more_rows.data(), peer_order.data(), n, true);
    };
    std::size_t low_bytes = 0, high_bytes = 0;
    by_low(nullptr, low_bytes);
    by_high(nullptr, high_bytes);
    const memory<u8> temp(larger(low_bytes, high_bytes));
    peer_ms = median_ms([&] {
      take_keys<<<132 * 16, 256>>>(records.data(), n, high.data(), low.data());
      number_rows<<<132 * 16, 256>>>(some_rows.data(), n);
      by_low(temp.data(), low_bytes);
      take_by_order<<<132 * 16, 256>>>(high.data(), more_rows.data(), n, more_high.data());
      by_high(temp.data(), high_bytes);
      move(peer_order.data());
    });
    report("sort_records_100_10", "CUB", n, 200 * n, peer_ms);
    expect_sorted("CUB");
  }
  const u64 temp_bytes = larger(radix_temp_bytes<radix_policy<u64, u32>, u32>(n), radix_temp_bytes<radix_policy<u16, u32>, u32>(n));
  const memory<u8> temp(temp_bytes);
  QUERY_BENCH_CUDA(cudaMemset(sorted.data(), 0, sorted.bytes()));
  const radix_buffers<u16, u32> low_between{{more_low.data(), other_low.data()}, {more_rows.data(), order.data()}};
  const radix_buffers<u64, u32> high_between{{more_high.data(), other_high.data()}, {more_rows.data(), order.data()}};
  const auto sort_numbers = [&] {
    take_keys<<<132 * 16, 256>>>(records.data(), n, high.data(), low.data());
    sort_rows(low, n, nullptr, temp, low_between, some_rows.data());
    sort_rows(high, n, some_rows.data(), temp, high_between, order.data());
  };
  const double ms = median_ms([&] {
    sort_numbers();
    move(order.data());
  });
  report("sort_records_100_10", "ours", n, 200 * n, ms, peer_ms);
  expect_sorted("ours");
  const bool right = expect_same("sort_records_100_10", "ours", order, peer_order, n);
  must_rows::add("sort of 100-byte records by 10 bytes, 2^26", ms, {double(n) / ms * 1e-6, "Grow/s"}, {"CUB", peer_ms},
                 must_rows::rate_of(2.5), right);
  std::printf("    of that %.3f ms to take the keys, %.3f ms to move the records\n",
              median_ms([&] { take_keys<<<132 * 16, 256>>>(records.data(), n, high.data(), low.data()); }),
              median_ms([&] { move(order.data()); }));
}

}  // namespace query::gpu::bench
