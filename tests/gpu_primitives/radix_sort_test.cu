// Radix sort against std::stable_sort: order and stability at every size, kind of data and number of passes that run.
#include "gpu_primitives/radix_sort.cuh"

#include <algorithm>
#include <limits>
#include <numeric>

#include "device.cuh"
#include "gpu_primitives/sort_keys.cuh"

namespace query::gpu::test {
namespace {

class radix_sort_test : public on_device {};

template <class Policy, u32 Bits, class T>
__global__ void count_digits(const T* x, u64 n, void* temp) {
  radix_histogram<Policy, Bits>(n, temp, [=](u64 i) { return sort_key(x[i]); });
}

template <class Policy, u32 Bits, class T, class Value, class Count>
__global__ __launch_bounds__(Policy::threads, Policy::blocks) void sweep(u32 pass, const T* x, u64 n, void* temp,
                                                         radix_buffers<sort_key_of<T>, Value> between, T* out, Value* order) {
  extern __shared__ __align__(16) u8 shared[];
  radix_sweep<Policy, Bits, sort_key_of<T>, Value, Count>(
      pass, n, temp, between, shared, [=](u64 i) { return sort_key(x[i]); },
      [](u64 i) {
        if constexpr (__is_empty(Value)) {
          return Value{};
        } else {
          return Value(i);
        }
      },
      [=](u64 at, sort_key_of<T> key) { out[at] = from_sort_key<T>(key); },
      [=](u64 at, const Value& row) { order[at] = row; });
}

// Sorts on the device; `order` gets the rows' old places (nothing for no_value). `blocks`: of a sweep; 0 is one a tile.
template <class T, class Value, class Count, u32 Bits = sort_key_bits<T>>
void sort_on_device(const std::vector<T>& x, std::vector<T>& sorted, std::vector<Value>& order, u64 blocks = 0) {
  using key = sort_key_of<T>;
  using policy = radix_policy<key, Value>;
  const u64 n = x.size();
  const device_array<T> in(x), out(n);
  const device_array<key> keys0(n), keys1(n);
  const device_array<Value> values0(n), values1(n), out_values(n);
  const auto temp = zeroed(radix_temp_bytes<policy, Count>(n));
  const auto count = count_digits<policy, Bits, T>;
  const auto move = sweep<policy, Bits, T, Value, Count>;
  const u32 shared = radix_shared_bytes<policy, key, Value>();
  const u64 count_blocks = radix_histogram_blocks<policy>(n, resident_blocks(count, policy::histogram_threads));
  resident_blocks(move, policy::threads, shared);  // raises the limit of shared memory
  const u64 move_blocks = blocks == 0 ? radix_sweep_blocks<policy>(n) : blocks;
  // Rows alone may lie between passes where they will be.
  key* const second = __is_empty(Value) ? reinterpret_cast<key*>(out.data()) : keys1.data();
  const radix_buffers<key, Value> between{{keys0.data(), second}, {values0.data(), values1.data()}};
  count<<<unsigned(count_blocks), policy::histogram_threads>>>(in.data(), n, temp.data());
  for (u32 pass = 0; pass < radix_passes(Bits); ++pass) {
    move<<<unsigned(move_blocks), policy::threads, shared>>>(pass, in.data(), n, temp.data(), between, out.data(), out_values.data());
  }
  finish();
  sorted = out.to_host();
  order = out_values.to_host();
}

template <class T, class Value, class Count>
void expect_sorted(const std::vector<T>& x, u64 blocks = 0) {
  std::vector<Value> expected(x.size());
  std::iota(expected.begin(), expected.end(), Value(0));
  std::stable_sort(expected.begin(), expected.end(), [&](Value a, Value b) { return sort_key(x[a]) < sort_key(x[b]); });
  std::vector<T> sorted;
  std::vector<Value> order;
  sort_on_device<T, Value, Count>(x, sorted, order, blocks);
  ASSERT_TRUE(order == expected) << "n = " << x.size();
  u64 wrong = 0;
  for (u64 i = 0; i < x.size(); ++i) wrong += sort_key(sorted[i]) != sort_key(x[expected[i]]) ? 1 : 0;
  EXPECT_EQ(wrong, 0u) << "n = " << x.size();
}

template <class T>
void expect_keys_sorted(std::vector<T> x) {
  std::vector<T> sorted;
  std::vector<no_value> order;
  sort_on_device<T, no_value, u32>(x, sorted, order);
  std::sort(x.begin(), x.end(), [](T a, T b) { return sort_key(a) < sort_key(b); });
  u64 wrong = 0;
  for (u64 i = 0; i < x.size(); ++i) wrong += sort_key(sorted[i]) != sort_key(x[i]) ? 1 : 0;
  EXPECT_EQ(wrong, 0u) << "n = " << x.size();
}

template <class Key, class Value>
std::vector<u64> sizes_around_tiles() {
  using policy = radix_policy<Key, Value>;
  return interesting_sizes(u64(policy::threads) * policy::items);
}

std::vector<u32> repeating_keys(u64 n) {
  const std::vector<u64> words = random_words(n, n);
  std::vector<u32> keys(words.begin(), words.end());
  for (u32& k : keys) k %= 1000;
  return keys;
}

TEST_F(radix_sort_test, sorts_pairs_stably_at_every_size) {
  for (const u64 n : sizes_around_tiles<u64, u32>()) expect_sorted<u64, u32, u32>(random_words(n, n));
  for (const u64 n : sizes_around_tiles<u64, u64>()) expect_sorted<u64, u64, u64>(random_words(n, n));
  for (const u64 n : sizes_around_tiles<u32, u32>()) expect_sorted<u32, u32, u32>(repeating_keys(n));
  for (const u64 n : sizes_around_tiles<u32, u64>()) expect_sorted<u32, u64, u64>(repeating_keys(n));
}

TEST_F(radix_sort_test, sorts_keys_at_every_size) {
  for (const u64 n : sizes_around_tiles<u64, no_value>()) expect_keys_sorted<u64>(random_words(n, n));
  for (const u64 n : sizes_around_tiles<u32, no_value>()) expect_keys_sorted<u32>(repeating_keys(n));
  for (const u64 n : sizes_around_tiles<u16, no_value>()) {
    const std::vector<u64> words = random_words(n, n);
    expect_keys_sorted<u16>(std::vector<u16>(words.begin(), words.end()));
    expect_keys_sorted<i8>(std::vector<i8>(words.begin(), words.end()));
  }
}

// Cheap enough for compute-sanitizer.
TEST_F(radix_sort_test, sorts_with_fewer_blocks_than_tiles) {
  expect_sorted<u64, u32, u32>(random_words(50021, 1), 3);
  expect_sorted<u32, u32, u32>(repeating_keys(50021), 3);
}

// Every number of passes that run, from none to all, and every place of a skipped pass.
TEST_F(radix_sort_test, skips_passes_whose_digit_is_constant) {
  for (const u64 mask : {0x0ull, 0xffull, 0xff00ull, 0xff00000000000000ull, 0xff00ff00ull, 0x0000ffffff000000ull, 0x0f0f0f0f0f0f0f0full,
                         0x00ffffffffffff00ull, 0x8000000000000001ull, 0x1ull}) {
    std::vector<u64> x = random_words(200003, mask);
    for (u64& k : x) k = (k & mask) | (0x0123456789abcdefull & ~mask);
    expect_sorted<u64, u32, u32>(x);
    expect_keys_sorted<u64>(x);
  }
}

TEST_F(radix_sort_test, sorts_data_that_is_sorted_reversed_or_skewed) {
  const u64 n = 300000;
  std::vector<u64> x(n);
  std::iota(x.begin(), x.end(), u64(0));
  expect_sorted<u64, u32, u32>(x);
  std::reverse(x.begin(), x.end());
  expect_sorted<u64, u32, u32>(x);
  for (u64 i = 0; i < n; ++i) x[i] = i % 1000 == 0 ? i : ~u64(0);
  expect_sorted<u64, u32, u32>(x);
}

TEST_F(radix_sort_test, orders_doubles_with_nans_last_and_zeros_equal) {
  std::vector<double> x(100001);
  std::mt19937_64 random(3);
  for (double& v : x) {
    switch (random() % 8) {
      case 0: v = std::numeric_limits<double>::quiet_NaN(); break;
      case 1: v = -std::numeric_limits<double>::quiet_NaN(); break;
      case 2: v = -0.0; break;
      case 3: v = 0.0; break;
      case 4: v = std::numeric_limits<double>::infinity(); break;
      default: v = double(i64(random()));
    }
  }
  expect_sorted<double, u32, u32>(x);
}

TEST_F(radix_sort_test, orders_narrow_and_signed_keys) {
  const std::vector<u64> words = random_words(50021, 9);
  expect_sorted<u8, u32, u32>(std::vector<u8>(words.begin(), words.end()));
  expect_sorted<i16, u32, u32>(std::vector<i16>(words.begin(), words.end()));
  expect_sorted<i32, u32, u32>(std::vector<i32>(words.begin(), words.end()));
  expect_sorted<i64, u32, u64>(std::vector<i64>(words.begin(), words.end()));
}

using byte_policy = radix_policy<u8, no_value>;

__global__ void count_bytes(u64 n, void* temp) {
  radix_histogram<byte_policy, 8>(n, temp, [](u64 i) { return u8(i * 0x9e3779b97f4a7c15ull >> 56); });
}

__global__ __launch_bounds__(byte_policy::threads, byte_policy::blocks) void sweep_bytes(
    u64 n, void* temp, radix_buffers<u8, no_value> none, u8* out) {
  extern __shared__ __align__(16) u8 shared[];
  radix_sweep<byte_policy, 8, u8, no_value, u64>(
      0, n, temp, none, shared, [](u64 i) { return u8(i * 0x9e3779b97f4a7c15ull >> 56); }, [](u64) { return no_value(); },
      [=](u64 at, u8 key) { out[at] = key; }, [](u64, no_value) {});
}

__global__ void count_descents(const u8* x, u64 n, u64* counts) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    if (i + 1 < n && x[i] > x[i + 1]) atomicAdd(&counts[256], u64(1));
    if (i == 0 || x[i] != x[i - 1]) atomicAdd(&counts[x[i]], u64(0) - i);
    if (i + 1 == n || x[i] != x[i + 1]) atomicAdd(&counts[x[i]], i + 1);
    atomicAdd(&counts[257], u64(i * 0x9e3779b97f4a7c15ull >> 56 == 77));
  }
}

TEST_F(radix_sort_test, sorts_more_than_2_to_the_31_rows) {
  const u64 n = (u64(1) << 31) + 12345;
  const device_array<u8> out(n);
  const auto temp = zeroed(radix_temp_bytes<byte_policy, u64>(n));
  const u32 shared = radix_shared_bytes<byte_policy, u8, no_value>();
  resident_blocks(sweep_bytes, byte_policy::threads, shared);  // raises the limit of shared memory
  count_bytes<<<unsigned(radix_histogram_blocks<byte_policy>(n, resident_blocks(count_bytes, byte_policy::histogram_threads))),
                byte_policy::histogram_threads>>>(n, temp.data());
  sweep_bytes<<<unsigned(radix_sweep_blocks<byte_policy>(n)),
                byte_policy::threads, shared>>>(n, temp.data(), {}, out.data());
  const auto counts = zeroed(258 * 8);
  count_descents<<<1024, 256>>>(out.data(), n, reinterpret_cast<u64*>(counts.data()));
  finish();
  std::vector<u64> got(258);
  QUERY_TEST_CUDA(cudaMemcpy(got.data(), counts.data(), 258 * 8, cudaMemcpyDeviceToHost));
  EXPECT_EQ(got[256], 0u);
  EXPECT_EQ(got[77], got[257]);
  EXPECT_EQ(std::accumulate(got.begin(), got.begin() + 256, u64(0)), n);
}

}  // namespace
}  // namespace query::gpu::test
