// What the host computes of GPU primitives - grids, temporary and shared memory - for every size, by the host compiler and without a GPU.
#include <gtest/gtest.h>

#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/histogram.cuh"
#include "gpu_primitives/merge.cuh"
#include "gpu_primitives/partition.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/reduce.cuh"
#include "gpu_primitives/sampled_bound.cuh"
#include "gpu_primitives/scan.cuh"
#include "gpu_primitives/top_k.cuh"

namespace query::gpu::test {
namespace {

constexpr u64 sizes[] = {0, 1, 31, 4096, 4097, u64(1) << 28, (u64(1) << 31) + 1, (u64(1) << 40) + 3};

template <u32 Bytes>
struct item {
  u8 bytes[Bytes];
};

template <class policy>
void expect_few_blocks() {
  for (const u64 n : sizes) {
    const u64 blocks = reduce_blocks<policy>(n);
    EXPECT_GE(blocks, 1u);
    EXPECT_LE(blocks, policy::most_blocks);
    EXPECT_GE(blocks * reduce_rows_per_block<policy>(n), n);
    EXPECT_EQ((reduce_temp_bytes<policy, double>(n)), 128 + blocks * 8);
  }
}

TEST(launch_shapes_test, every_row_of_a_reduction_belongs_to_one_of_few_blocks) {
  expect_few_blocks<reduce_policy<double>>();
  expect_few_blocks<reduce_loops_policy<double>>();
}

TEST(launch_shapes_test, tiles_cover_all_rows_and_have_a_message_each) {
  using compact_u64 = compact_policy<u64>;
  using scan_u64 = scan_policy<u64>;
  for (const u64 n : sizes) {
    EXPECT_GE(compact_tiles<compact_u64>(n) * compact_tile<compact_u64>(), n);
    EXPECT_EQ(compact_temp_bytes<compact_u64>(n), 128 + 8 * compact_tiles<compact_u64>(n));
    EXPECT_GE(scan_tiles<scan_u64>(n) * scan_tile<scan_u64>(), n);
    EXPECT_EQ((scan_temp_bytes<scan_u64, u64>(n)), 128 + 16 * scan_tiles<scan_u64>(n));
    EXPECT_GE(compact_blocks<compact_u64>(n, 0), 1u);
    EXPECT_LE(compact_blocks<compact_u64>(n, 528), 528u);
    EXPECT_GE(scan_blocks<scan_u64>(n, 0), 1u);
    EXPECT_LE(scan_blocks<scan_u64>(n, 528), 528u);
    EXPECT_GE(histogram_blocks<histogram_policy>(n, 0), 1u);
    EXPECT_GE(top_k_blocks<top_k_policy>(n, 0), 1u);
  }
}

TEST(launch_shapes_test, a_sample_has_one_row_of_each_run) {
  for (const u64 n : {u64(1), u64(2), u64(1000), u64(16384), u64(100003), u64(1) << 27, (u64(1) << 40) + 3}) {
    for (const u32 samples : {1u, 2u, 999u, 16384u}) {
      if (samples > n) continue;
      u64 begin = 0, in_upper_half = 0;
      for (u32 j = 0; j < samples; ++j) {
        const u64 end = begin + n / samples + (j < n % samples ? 1 : 0), row = sampled_row(j, samples, n);
        ASSERT_GE(row, begin);
        ASSERT_LT(row, end);
        if (row - begin >= (end - begin) / 2) ++in_upper_half;
        begin = end;
      }
      ASSERT_EQ(begin, n);
      if (samples > 900 && n / samples > 1000) {
        EXPECT_GT(in_upper_half, samples * 2 / 5) << "of runs of " << n / samples << " rows";
        EXPECT_LT(in_upper_half, samples * 3 / 5);
      }
    }
  }
}

TEST(launch_shapes_test, every_tile_of_a_merge_has_two_borders) {
  using policy = merge_policy<u64, u32>;
  for (const u64 n : sizes) {
    EXPECT_GE(merge_tiles<policy>(n) * merge_tile<policy>(), n);
    EXPECT_GE(merge_blocks<policy>(n), 1u);
    EXPECT_GE(merge_split_blocks<policy>(n) * policy::split_threads, smaller(merge_tiles<policy>(n) + 1, u64(0x7fffffff)));
    EXPECT_EQ(merge_temp_bytes<policy>(n), 8 * (merge_tiles<policy>(n) + 1));
  }
}

TEST(launch_shapes_test, cuts_a_merge_on_the_host) {
  const u32 a[] = {1, 3, 3, 5}, b[] = {3, 3, 4};  // 1 3a 3a 3b 3b 4 5
  const u64 expected[] = {0, 1, 2, 3, 3, 3, 3, 4};
  for (u64 rows = 0; rows < 8; ++rows) {
    const auto before = [](u32 x, u32 y) { return x < y; };
    EXPECT_EQ(merge_path(rows, u64(4), u64(3), [&](u64 i) { return a[i]; }, [&](u64 i) { return b[i]; }, before), expected[rows]) << rows;
  }
}

template <u32 Bytes>
void expect_items_fit() {
  EXPECT_LE((merge_tile<merge_policy<item<Bytes>, u32>>() * (Bytes + 2) + 17 * Bytes), 48u * 1024) << Bytes;
  EXPECT_LE((merge_tile<merge_policy<item<Bytes>, no_value>>() * (Bytes + 2) + 17 * Bytes), 48u * 1024) << Bytes;
  EXPECT_LE(compact_tile<compact_policy<item<Bytes>>>() * Bytes + 1024, 48u * 1024) << Bytes;
  EXPECT_LE(2 * (scan_tile<scan_policy<item<Bytes>>>() + 32) * Bytes + 16, 48u * 1024) << Bytes;
}

TEST(launch_shapes_test, tiles_of_every_width_fit_static_shared_memory) {
  expect_items_fit<1>();
  expect_items_fit<4>();
  expect_items_fit<8>();
  expect_items_fit<12>();
  expect_items_fit<16>();
  expect_items_fit<24>();
  expect_items_fit<40>();
  expect_items_fit<64>();
  expect_items_fit<100>();
  expect_items_fit<128>();
}

template <class Key, class Value>
void expect_two_blocks_fit() {
  EXPECT_LE((2 * (radix_shared_bytes<radix_policy<Key, Value>, Key, Value>() + 1024)), 228u * 1024);
}

TEST(launch_shapes_test, two_blocks_of_a_sort_share_a_multiprocessor) {
  expect_two_blocks_fit<u8, no_value>();
  expect_two_blocks_fit<u8, u32>();
  expect_two_blocks_fit<u16, u32>();
  expect_two_blocks_fit<u32, no_value>();
  expect_two_blocks_fit<u64, no_value>();
  expect_two_blocks_fit<u32, u32>();
  expect_two_blocks_fit<u64, u32>();
  expect_two_blocks_fit<u32, u64>();
  expect_two_blocks_fit<u64, u64>();
}

TEST(launch_shapes_test, a_sort_has_a_pass_for_each_byte_of_its_key) {
  using policy = radix_policy<u64, u32>;
  EXPECT_EQ(radix_passes(1), 1u);
  EXPECT_EQ(radix_passes(8), 1u);
  EXPECT_EQ(radix_passes(33), 5u);
  EXPECT_EQ(radix_passes(64), 8u);
  EXPECT_TRUE(radix_fits_32_bit_counts((u64(1) << 30) - 1));
  EXPECT_FALSE(radix_fits_32_bit_counts(u64(1) << 30));
  for (const u64 n : sizes) {
    EXPECT_GE(radix_tiles<policy>(n) * policy::threads * policy::items, n);
    EXPECT_GE(radix_sweep_blocks<policy>(n), 1u);
    EXPECT_LE(radix_sweep_blocks<policy>(n), 0x7fffffffu);
    EXPECT_GE(radix_histogram_blocks<policy>(n, 0), 1u);
    const u64 wider = radix_temp_bytes<policy, u64>(n) - radix_temp_bytes<policy, u32>(n);
    EXPECT_EQ(wider, 2 * radix_tiles<policy>(n) * 256 * 4);
  }
}

}  // namespace
}  // namespace query::gpu::test
