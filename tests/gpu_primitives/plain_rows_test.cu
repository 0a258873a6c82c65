// partition, histogram and top_k beyond 2^31 rows. Rows are computed, and so is what each place must hold: no memory is taken but the
// primitives' own.
#include <vector>

#include "device.cuh"
#include "gpu_primitives/atomics.cuh"
#include "gpu_primitives/histogram.cuh"
#include "gpu_primitives/partition.cuh"
#include "gpu_primitives/top_k.cuh"

namespace query::gpu::test {
namespace {

constexpr u64 many = (u64(1) << 31) + 12345;
constexpr u32 parts = 7, bins = 64;

class plain_rows_test : public on_device {};

__global__ void count_rows(u64 n, u64* counts) {
  histogram<histogram_policy, bins>(
      n, [](u64 i) { return u32(i % bins); }, counts);
}

TEST_F(plain_rows_test, histogram_counts_beyond_2_to_the_31) {
  const device_array<u64> counts(bins, 0);
  const u64 blocks = histogram_blocks<histogram_policy>(many, resident_blocks(count_rows, histogram_policy::threads));
  count_rows<<<unsigned(blocks), histogram_policy::threads>>>(many, counts.data());
  finish();
  const std::vector<u64> got = counts.to_host();
  for (u64 bin = 0; bin < bins; ++bin) EXPECT_EQ(got[bin], many / bins + (bin < many % bins)) << "bin " << bin;
}

// The best rows are the last ones, from the last on; all others are alike.
__global__ void last_rows(u64 n, u32 k, void* temp, u64* rows) {
  top_k<top_k_policy>(
      n, k, temp, [=](u64 i) { return i + k >= n ? n - i : u64(1) << 40; }, [=](u32 at, u64, u64 row) { rows[at] = row; });
}

TEST_F(plain_rows_test, top_k_finds_rows_beyond_2_to_the_31) {
  const u32 k = 100;
  const device_array<u64> rows(k);
  const u64 blocks = top_k_blocks<top_k_policy>(many, resident_blocks(last_rows, top_k_policy::threads));
  const device_array<u8> temp(top_k_temp_bytes(blocks, k), 0);
  last_rows<<<unsigned(blocks), top_k_policy::threads>>>(many, k, temp.data(), rows.data());
  finish();
  const std::vector<u64> got = rows.to_host();
  for (u64 i = 0; i < k; ++i) EXPECT_EQ(got[i], many - 1 - i);
}

using policy = partition_policy<u32>;

__global__ void count_parts(u64 n, void* temp, u64* starts) {
  partition_count<policy>(
      n, temp, [](u64 i) { return u32(i % parts); }, parts, starts);
}
// Row r is the (r / parts)-th of its partition.
__global__ __launch_bounds__(policy::threads, policy::blocks) void check_rows(u64 n, void* temp, const u64* starts, u64* placed,
                                                                             u64* wrong) {
  extern __shared__ __align__(16) u8 shared[];
  partition_move<policy, u32, u32>(
      n, temp, shared, [](u64 i) { return u32(i % parts); }, [](u64 i) { return u32(i); },
      [=](u64 at, u32 row) {
        if (at != starts[row % parts] + row / parts) atomic_add(wrong, u64(1));
        if (row % 4096 == 0) atomic_add(placed, u64(1));
      });
}

TEST_F(plain_rows_test, partition_keeps_the_order_beyond_2_to_the_31) {
  const u32 shared = radix_shared_bytes<policy, u8, u32>();
  resident_blocks(check_rows, policy::threads, shared);  // raises the limit of shared memory
  const device_array<u64> starts(parts + 1), placed(1, 0), wrong(1, 0);
  const device_array<u8> temp(radix_temp_bytes<policy, u32>(many), 0);
  const u64 blocks = radix_histogram_blocks<policy>(many, resident_blocks(count_parts, policy::histogram_threads));
  count_parts<<<unsigned(blocks), policy::histogram_threads>>>(many, temp.data(), starts.data());
  check_rows<<<unsigned(radix_sweep_blocks<policy>(many)), policy::threads, shared>>>(many, temp.data(), starts.data(), placed.data(),
                                                                                      wrong.data());
  finish();
  EXPECT_EQ(starts.to_host()[parts], many);
  EXPECT_EQ(placed.to_host()[0], (many + 4095) / 4096);
  EXPECT_EQ(wrong.to_host()[0], 0u);
}

}  // namespace
}  // namespace query::gpu::test
