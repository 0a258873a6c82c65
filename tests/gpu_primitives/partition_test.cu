// partition by any function, range and hash, histogram and top_k against host loops: stability, skew, NaN, empty partitions, ties, fewer
// rows than asked for.
#include "gpu_primitives/partition.cuh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

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

// What makes the function of a row, on the device.
template <class Key, class Before = number_order>
struct by_range {
  const Key* keys;
  const Key* bounds;
  u32 n;
  __device__ auto part_of() const {
    return range_part([keys = keys](u64 i) { return keys[i]; }, bounds, n, Before{});
  }
};
template <class Key>
struct by_key {
  const Key* keys;
  u32 parts;
  __device__ auto part_of() const {
    return hash_part([keys = keys](u64 i) { return keys[i]; }, bitwise_keys<Key>{}, parts);
  }
};
struct by_hash {
  const u64* hash;
  u32 parts;
  __device__ auto part_of() const {
    return hash_part([hash = hash](u64 i) { return hash[i]; }, parts);
  }
};

template <class By>
__global__ void number_by(By by, u64 n, u32* numbers) {
  const auto part_of = by.part_of();
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) numbers[i] = part_of(i);
}
template <class By>
__global__ void count_by(By by, u64 n, u32 parts, void* temp, u64* starts) {
  partition_count<policy>(n, temp, by.part_of(), parts, starts);
}
template <class By>
__global__ __launch_bounds__(policy::threads, policy::blocks) void move_by(By by, u64 n, void* temp, u32* rows) {
  extern __shared__ __align__(16) u8 shared[];
  partition_move<policy, u32, u32>(n, temp, shared, by.part_of(), [](u64 i) { return u32(i); }, [=](u64 at, u32 row) { rows[at] = row; });
}

template <class By>
std::vector<u32> numbers_of(By by, u64 n) {
  const device_array<u32> numbers(n);
  number_by<<<64, 256>>>(by, n, numbers.data());
  finish();
  return numbers.to_host();
}

// Rows go where `numbers` says, in their order.
template <class By>
void expect_moved(By by, const std::vector<u32>& numbers, u32 parts) {
  const u64 n = numbers.size();
  std::vector<u32> expected(n);
  std::iota(expected.begin(), expected.end(), 0u);
  std::stable_sort(expected.begin(), expected.end(), [&](u32 a, u32 b) { return numbers[a] < numbers[b]; });
  std::vector<u64> expected_starts(parts + 1, 0);
  for (const u32 part : numbers) ++expected_starts.at(part + 1);
  std::partial_sum(expected_starts.begin(), expected_starts.end(), expected_starts.begin());

  const u32 shared = radix_shared_bytes<policy, u8, u32>();
  resident_blocks(move_by<By>, policy::threads, shared);  // raises the limit of shared memory
  const device_array<u64> starts(parts + 1);
  const device_array<u32> rows(n);
  const device_array<u8> temp(radix_temp_bytes<policy, u32>(n), 0);
  const u64 count_blocks = radix_histogram_blocks<policy>(n, resident_blocks(count_by<By>, policy::histogram_threads));
  count_by<<<unsigned(count_blocks), policy::histogram_threads>>>(by, n, parts, temp.data(), starts.data());
  move_by<<<unsigned(radix_sweep_blocks<policy>(n)), policy::threads, shared>>>(by, n, temp.data(), rows.data());
  finish();
  EXPECT_TRUE(rows.to_host() == expected) << "n = " << n << ", parts = " << parts;
  EXPECT_TRUE(starts.to_host() == expected_starts) << "n = " << n << ", parts = " << parts;
}

// The library's order, as a loop has it.
template <class Key>
bool comes_before(Key a, Key b) {
  if constexpr (std::numeric_limits<Key>::has_quiet_NaN) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

template <class Key>
void expect_ranges(const std::vector<Key>& keys, const std::vector<Key>& bounds) {
  std::vector<u32> numbers;
  for (const Key k : keys) {
    u32 part = 0;
    for (const Key b : bounds) part += !comes_before(k, b);
    numbers.push_back(part);
  }
  const device_array<Key> in(keys), at(bounds);
  const by_range<Key> by{in.data(), at.data(), u32(bounds.size())};
  ASSERT_TRUE(numbers_of(by, keys.size()) == numbers) << "n = " << keys.size() << ", bounds = " << bounds.size();
  expect_moved(by, numbers, u32(bounds.size()) + 1);
}

// Numbers around 0, of which every `nth` is a NaN, an infinity or a zero.
std::vector<double> mixed_doubles(u64 n, u64 nth) {
  const double odd[] = {std::nan(""), -std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0};
  std::vector<double> out(n);
  const std::vector<u64> words = random_words(n, n + nth);
  for (u64 i = 0; i < n; ++i) out[i] = i % nth == 0 ? odd[words[i] % 6] : double(i64(words[i]) >> 40);
  return out;
}

TEST_F(partition_test, by_range_of_any_number_of_bounds) {
  for (const u64 n : interesting_sizes(u64(policy::threads) * policy::items)) {
    for (const u64 count : {0u, 1u, 2u, 63u, 255u}) {
      std::vector<double> bounds = mixed_doubles(count, count + 1);
      std::sort(bounds.begin(), bounds.end(), comes_before<double>);
      expect_ranges(mixed_doubles(n, 5), bounds);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(partition_test, by_range_has_nan_last_and_one_zero) {
  const std::vector<double> keys = mixed_doubles(20000, 2);
  expect_ranges(keys, {-HUGE_VAL, -0.0, 0.0, HUGE_VAL});
  expect_ranges(keys, {0.0, HUGE_VAL, std::nan("")});              // NaNs have a partition of their own
  expect_ranges(keys, {1.0, std::nan(""), -std::nan("")});         // the partition between equal bounds is empty
  expect_ranges(std::vector<double>(5000, std::nan("")), {-1.0, 1.0});  // all but the last are
}

TEST_F(partition_test, by_range_of_few_values_and_of_empty_ranges) {
  for (const u64 n : interesting_sizes(u64(policy::threads) * policy::items)) {
    const std::vector<i64> bounds = {-5, -5, -5, 0, 7, 7, 1000, 1001};
    expect_ranges(std::vector<i64>(n, 7), bounds);    // all are equal, and equal to a bound
    expect_ranges(std::vector<i64>(n, -6), bounds);   // before the first
    expect_ranges(std::vector<i64>(n, 5000), bounds); // behind the last
    std::vector<i64> skewed(n);
    const std::vector<u64> words = random_words(n, n);
    for (u64 i = 0; i < n; ++i) skewed[i] = words[i] % 10 != 0 ? 3 : i64(words[i] >> 50) - 100;
    expect_ranges(skewed, bounds);
    if (HasFatalFailure()) return;
  }
}

struct from_high_to_low {
  __device__ bool operator()(u32 a, u32 b) const { return a > b; }
};

TEST_F(partition_test, by_range_in_an_order_of_the_caller) {
  const std::vector<u32> keys = {9, 7, 5, 3, 1, 5, 7}, bounds = {7, 3}, expected = {0, 1, 1, 2, 2, 1, 1};
  const device_array<u32> in(keys), at(bounds);
  const by_range<u32, from_high_to_low> by{in.data(), at.data(), 2};
  EXPECT_EQ(numbers_of(by, keys.size()), expected);
  expect_moved(by, expected, 3);
}

// Equal keys together; returns the rows of each partition.
template <class Key>
std::vector<u64> expect_hashed(const std::vector<Key>& keys, u32 parts) {
  const device_array<Key> in(keys);
  const by_key<Key> by{in.data(), parts};
  const std::vector<u32> numbers = numbers_of(by, keys.size());
  std::map<std::string, u32> seen;
  std::vector<u64> rows(parts);
  for (u64 i = 0; i < keys.size(); ++i) {
    ++rows.at(numbers[i]);
    const auto [at, is_new] = seen.emplace(std::string(reinterpret_cast<const char*>(&keys[i]), sizeof(Key)), numbers[i]);
    EXPECT_EQ(at->second, numbers[i]) << i;
  }
  expect_moved(by, numbers, parts);
  return rows;
}

TEST_F(partition_test, by_hash_keeps_equal_keys_together) {
  for (const u64 n : interesting_sizes(u64(policy::threads) * policy::items)) {
    if (n > 100000) continue;
    const std::vector<u64> words = random_words(n, n);
    for (const u32 parts : {1u, 2u, 7u, 64u, 256u}) {
      std::vector<u32> few(n);
      std::vector<u64> skewed(n);
      std::vector<ulonglong2> wide(n);
      for (u64 i = 0; i < n; ++i) {
        few[i] = u32(words[i] % 5) - 2;
        skewed[i] = words[i] % 10 != 0 ? ~u64(0) : words[i] >> 55;
        wide[i] = {words[i] % 50, (words[i] >> 8) % 3};
      }
      expect_hashed(few, parts);
      expect_hashed(skewed, parts);
      expect_hashed(wide, parts);
      expect_hashed(std::vector<u64>(n, 0), parts);
    }
  }
}

TEST_F(partition_test, by_hash_spreads_different_keys) {
  constexpr u64 n = 1 << 18;
  std::vector<u32> small(n);
  std::vector<u64> counted(n), shifted(n);
  std::vector<ulonglong2> high(n);
  for (u64 i = 0; i < n; ++i) {
    small[i] = u32(i);
    counted[i] = i;
    shifted[i] = i << 40;
    high[i] = {0, i};
  }
  const auto expect_even = [](const std::vector<u64>& rows) {
    const double even = double(n) / double(rows.size());
    for (const u64 r : rows) EXPECT_NEAR(double(r), even, 8 * std::sqrt(even)) << rows.size();
  };
  for (const u32 parts : {2u, 7u, 256u}) {
    expect_even(expect_hashed(small, parts));
    expect_even(expect_hashed(counted, parts));
    expect_even(expect_hashed(shifted, parts));
    expect_even(expect_hashed(high, parts));
  }
}

// A hash's top bits place its key in a table: those of one partition take all values.
TEST_F(partition_test, by_hash_leaves_the_bits_that_tables_use) {
  const std::vector<u64> hashes = random_words(1 << 16, 3);
  const device_array<u64> in(hashes);
  const by_hash by{in.data(), 64};
  const std::vector<u32> numbers = numbers_of(by, hashes.size());
  std::map<std::pair<u32, u64>, u64> rows;
  for (u64 i = 0; i < hashes.size(); ++i) ++rows[{numbers[i], hashes[i] >> 60}];
  EXPECT_EQ(rows.size(), 64u * 16u);
  expect_moved(by, numbers, 64);
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
