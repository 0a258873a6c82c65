// partition, histogram and top_k against host loops: stability, empty partitions, ties, fewer rows than asked for.
#include "gpu_primitives/partition.cuh"

#include <algorithm>
#include <numeric>

#include "device.cuh"
#include "gpu_primitives/histogram.cuh"
#include "gpu_primitives/top_k.cuh"

namespace query::gpu::test {
namespace {

class partition_test : public on_device {};
class histogram_test : public on_device {};
class top_k_test : public on_device {};

using policy = partition_policy<u32>;

__global__ void count_parts(const u64* x, u64 n, u32 parts, void* temp, u64* starts) {
  partition_count<policy>(
      n, temp, [=](u64 i) { return u32(x[i] % parts); }, parts, starts);
}

__global__ __launch_bounds__(policy::threads, policy::blocks) void move_rows(const u64* x, u64 n, u32 parts, void* temp, u32* rows) {
  extern __shared__ __align__(16) u8 shared[];
  partition_move<policy, u32, u32>(
      n, temp, shared, [=](u64 i) { return u32(x[i] % parts); }, [](u64 i) { return u32(i); },
      [=](u64 at, u32 row) { rows[at] = row; });
}

TEST_F(partition_test, keeps_the_order_of_rows_within_each_partition) {
  const u32 shared = radix_shared_bytes<policy, u8, u32>();
  resident_blocks(move_rows, policy::threads, shared);  // raises the limit of shared memory
  for (const u64 n : interesting_sizes(u64(policy::threads) * policy::items)) {
    for (const u32 parts : {1u, 2u, 7u, 64u, 256u}) {
      const std::vector<u64> x = random_words(n, n);
      std::vector<u32> expected(n);
      std::iota(expected.begin(), expected.end(), 0u);
      std::stable_sort(expected.begin(), expected.end(), [&](u32 a, u32 b) { return x[a] % parts < x[b] % parts; });
      std::vector<u64> expected_starts(parts + 1, 0);
      for (const u64 w : x) ++expected_starts[w % parts + 1];
      std::partial_sum(expected_starts.begin(), expected_starts.end(), expected_starts.begin());

      const device_array<u64> in(x), starts(parts + 1);
      const device_array<u32> rows(n);
      const device_array<u8> temp(radix_temp_bytes<policy, u32>(n), 0);
      const u64 count_blocks = radix_histogram_blocks<policy>(n, resident_blocks(count_parts, policy::histogram_threads));
      count_parts<<<unsigned(count_blocks), policy::histogram_threads>>>(in.data(), n, parts, temp.data(), starts.data());
      move_rows<<<unsigned(radix_sweep_blocks<policy>(n)), policy::threads, shared>>>(in.data(), n, parts, temp.data(), rows.data());
      finish();
      EXPECT_TRUE(rows.to_host() == expected) << "n = " << n << ", parts = " << parts;
      EXPECT_TRUE(starts.to_host() == expected_starts) << "n = " << n << ", parts = " << parts;
    }
  }
}

template <u32 Bins>
__global__ void count_bins(const u64* x, u64 n, u64 modulus, u64* counts) {
  histogram<histogram_policy, Bins>(
      n, [=](u64 i) { return u32(x[i] % modulus); }, counts);
}

TEST_F(histogram_test, counts_bins_and_leaves_out_rows_beyond_them) {
  for (const u64 n : interesting_sizes(u64(histogram_policy::threads) * histogram_policy::items)) {
    for (const u64 modulus : {u64(1), u64(300), u64(5000), u64(20000)}) {
      const std::vector<u64> x = random_words(n, n + modulus);
      std::vector<u64> expected(5000, 0);
      for (const u64 w : x) {
        if (w % modulus < 5000) ++expected[w % modulus];
      }
      const device_array<u64> in(x), counts(5000, 0);
      const u64 blocks = histogram_blocks<histogram_policy>(n, resident_blocks(count_bins<5000>, histogram_policy::threads));
      count_bins<5000><<<unsigned(blocks), histogram_policy::threads>>>(in.data(), n, modulus, counts.data());
      finish();
      EXPECT_TRUE(counts.to_host() == expected) << "n = " << n << ", modulus = " << modulus;
    }
  }
}

__global__ void first_rows(const u64* keys, u64 n, u32 k, void* temp, u64* out_keys, u64* out_rows) {
  top_k<top_k_policy>(
      n, k, temp, [=](u64 i) { return keys[i]; },
      [=](u32 at, u64 key, u64 row) {
        out_keys[at] = key;
        out_rows[at] = row;
      });
}

void expect_first_rows(const std::vector<u64>& x, u32 k) {
  const u64 n = x.size();
  const u64 found = std::min<u64>(k, n);
  std::vector<u64> expected(n);
  std::iota(expected.begin(), expected.end(), u64(0));
  std::stable_sort(expected.begin(), expected.end(), [&](u64 a, u64 b) { return x[a] < x[b]; });
  expected.resize(found);
  const device_array<u64> in(x), keys(k), rows(k);
  const u64 blocks = top_k_blocks<top_k_policy>(n, resident_blocks(first_rows, top_k_policy::threads));
  const device_array<u8> temp(top_k_temp_bytes(blocks, k), 0);
  for (int launch = 0; launch < 2; ++launch) {
    first_rows<<<unsigned(blocks), top_k_policy::threads>>>(in.data(), n, k, temp.data(), keys.data(), rows.data());
    finish();
    EXPECT_TRUE(rows.to_host(found) == expected) << "n = " << n << ", k = " << k;
  }
  const std::vector<u64> got = keys.to_host(found);
  for (u64 i = 0; i < found; ++i) EXPECT_EQ(got[i], x[expected[i]]);
}

TEST_F(top_k_test, finds_the_first_rows_of_random_data) {
  for (const u64 n : interesting_sizes(u64(top_k_policy::threads) * top_k_policy::items)) {
    for (const u32 k : {1u, 10u, 1000u, 1024u}) expect_first_rows(random_words(n, n), k);
  }
}

TEST_F(top_k_test, breaks_ties_by_the_order_of_rows) {
  std::vector<u64> x = random_words(400000, 1);
  for (u64& v : x) v %= 3;
  expect_first_rows(x, 1024);
  expect_first_rows(std::vector<u64>(300000, ~u64(0)), 100);
}

TEST_F(top_k_test, survives_rows_that_get_better_and_better) {
  std::vector<u64> x(300000);
  for (u64 i = 0; i < x.size(); ++i) x[i] = x.size() - i;
  expect_first_rows(x, 77);
  std::reverse(x.begin(), x.end());
  expect_first_rows(x, 77);
}

}  // namespace
}  // namespace query::gpu::test
