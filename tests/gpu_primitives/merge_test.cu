// Merges against std::merge: order and stability at every size, shape and overlap of the two runs, and rounds of several runs.
#include "gpu_primitives/merge.cuh"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "device.cuh"
#include "gpu_primitives/sort_keys.cuh"

namespace query::gpu::test {
namespace {

class merge_test : public on_device {};

struct ascending {
  template <class T>
  QUERY_GPU_BOTH bool operator()(const T& x, const T& y) const {
    return x < y;
  }
};

struct by_sort_key {
  template <class T>
  QUERY_GPU_BOTH bool operator()(T x, T y) const {
    return sort_key(x) < sort_key(y);
  }
};

// A key of 16 bytes, of which the order looks at two parts.
struct wide_key {
  u64 high;
  u32 low;
  u32 ignored;
  QUERY_GPU_BOTH bool operator<(const wide_key& o) const { return high != o.high ? high < o.high : low < o.low; }
};

struct broad_key {
  u64 words[7];
  QUERY_GPU_BOTH bool operator<(const broad_key& o) const { return words[6] < o.words[6]; }
};

// Names the run and the row that a value comes from.
template <class Value>
constexpr Value from_b = Value(1) << (8 * sizeof(Value) - 1);

template <class Value>
__device__ Value value_of(u64 row, bool of_b) {
  if constexpr (__is_empty(Value)) {
    return {};
  } else {
    return of_b ? Value(row) | from_b<Value> : Value(row);
  }
}

template <class Policy, class Key, class Before>
__global__ void split(const Key* a, u64 na, const Key* b, u64 nb, u64* temp, Before before) {
  merge_split<Policy>(
      na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; }, before);
}

template <class Policy, class Key, class Value, class Before>
__global__ __launch_bounds__(Policy::threads, Policy::blocks) void merge(const Key* a, u64 na, const Key* b, u64 nb, const u64* temp,
                                                                         Key* keys, Value* values, Before before) {
  merge_runs<Policy, Key, Value>(
      na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; }, [](u64 i) { return value_of<Value>(i, false); },
      [](u64 i) { return value_of<Value>(i, true); }, before, [=](u64 at, const Key& key) { keys[at] = key; },
      [=](u64 at, const Value& v) { values[at] = v; });
}

template <class Key>
bool same_bytes(const std::vector<Key>& x, const std::vector<Key>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(Key)) == 0);
}

// `rows`: the runs' rows in the order of the result, those of b with from_b<u64>.
template <class Value, class Key, class Before>
void expect_merged_with(const std::vector<Key>& a, const std::vector<Key>& b, const std::vector<Key>& expected,
                        const std::vector<u64>& rows, Before before, u64 blocks) {
  using policy = merge_policy<Key, Value>;
  const u64 na = a.size(), nb = b.size(), n = na + nb;
  const device_array<Key> in_a(a), in_b(b), keys(n, 0xee);
  const device_array<Value> values(n, 0xee);
  const device_array<u64> temp(merge_temp_bytes<policy>(n) / 8, 0xee);
  if (blocks == 0) blocks = merge_blocks<policy>(n);
  split<policy><<<unsigned(merge_split_blocks<policy>(n)), policy::split_threads>>>(in_a.data(), na, in_b.data(), nb, temp.data(), before);
  merge<policy><<<unsigned(blocks), policy::threads>>>(in_a.data(), na, in_b.data(), nb, temp.data(), keys.data(), values.data(), before);
  finish();
  EXPECT_TRUE(same_bytes(keys.to_host(), expected)) << na << " and " << nb << " rows, values of " << sizeof(Value) << " bytes";
  if constexpr (!__is_empty(Value)) {
    std::vector<Value> expected_values;
    for (const u64 row : rows) expected_values.push_back((row & from_b<u64>) != 0 ? Value(row) | from_b<Value> : Value(row));
    EXPECT_TRUE(values.to_host() == expected_values) << na << " and " << nb << " rows, values of " << sizeof(Value) << " bytes";
  }
}

// Policies differ by the values' width. `blocks`: of merge_runs; 0 is one a tile.
template <class Key, class Before = ascending>
void expect_merged(const std::vector<Key>& a, const std::vector<Key>& b, Before before = {}, u64 blocks = 0) {
  const u64 na = a.size(), n = na + b.size();
  std::vector<u64> rows(n), expected_rows(n);
  std::iota(rows.begin(), rows.begin() + i64(na), u64(0));
  std::iota(rows.begin() + i64(na), rows.end(), from_b<u64>);
  const auto key_of = [&](u64 row) -> const Key& { return (row & from_b<u64>) != 0 ? b[row - from_b<u64>] : a[row]; };
  std::merge(rows.begin(), rows.begin() + i64(na), rows.begin() + i64(na), rows.end(), expected_rows.begin(),
             [&](u64 x, u64 y) { return before(key_of(x), key_of(y)); });
  std::vector<Key> expected;
  for (const u64 row : expected_rows) expected.push_back(key_of(row));
  expect_merged_with<u64>(a, b, expected, expected_rows, before, blocks);
  expect_merged_with<u32>(a, b, expected, expected_rows, before, blocks);
  expect_merged_with<no_value>(a, b, expected, expected_rows, before, blocks);
}

template <class Key>
std::vector<Key> sorted_numbers(u64 n, u64 seed, u64 different) {
  std::vector<Key> out;
  for (const u64 word : random_words(n, seed)) out.push_back(Key(different == 0 ? word : word % different));
  std::sort(out.begin(), out.end());
  return out;
}

template <class Key>
void expect_merged_at_every_size() {
  constexpr u64 tile = merge_tile<merge_policy<Key, u32>>(), tile_alone = merge_tile<merge_policy<Key, no_value>>();
  for (const u64 n : {u64(0), u64(1), u64(2), u64(31), u64(32), u64(33), u64(255), u64(257), u64(1024), tile - 1, tile, tile + 1, 2 * tile,
                      tile_alone - 1, tile_alone, tile_alone + 1, u64(1) << 14, (u64(1) << 16) + 1}) {
    for (const u64 na : {u64(0), n / 2, n - n / 8, n}) {
      for (const u64 different : {u64(0), u64(1), u64(5)}) {
        expect_merged<Key>(sorted_numbers<Key>(na, n, different), sorted_numbers<Key>(n - na, n + 1, different));
      }
    }
  }
}

TEST_F(merge_test, merges_words_at_every_size) { expect_merged_at_every_size<u32>(); }
TEST_F(merge_test, merges_double_words_at_every_size) { expect_merged_at_every_size<u64>(); }
TEST_F(merge_test, merges_bytes_at_every_size) { expect_merged_at_every_size<u8>(); }

// Cheap enough for compute-sanitizer.
TEST_F(merge_test, merges_a_few_tiles) {
  constexpr u64 tile = merge_tile<merge_policy<u32, u64>>();
  for (const u64 na : {u64(0), u64(1), tile, tile + 1, 3 * tile + 7}) {
    for (const u64 nb : {u64(0), u64(31), tile}) {
      expect_merged<u32>(sorted_numbers<u32>(na, 1, 100), sorted_numbers<u32>(nb, 2, 100));
      expect_merged<u64>(sorted_numbers<u64>(na, 3, 0), sorted_numbers<u64>(nb, 4, 0));
    }
  }
}

TEST_F(merge_test, takes_all_equal_rows_of_the_first_run_first) {
  for (const u64 na : {1u, 100u, 4096u, 100003u}) {
    for (const u64 nb : {1u, 100u, 4096u, 100003u}) expect_merged(std::vector<u64>(na, 7), std::vector<u64>(nb, 7));
  }
}

TEST_F(merge_test, merges_runs_of_which_one_lies_before_the_other) {
  std::vector<u32> low(70001), high(50021);
  std::iota(low.begin(), low.end(), 0u);
  std::iota(high.begin(), high.end(), 70001u);
  expect_merged(low, high);
  expect_merged(high, low);
  expect_merged(low, low);
  std::vector<u32> even(60000), odd(60000);
  for (u32 i = 0; i < 60000; ++i) {
    even[i] = 2 * i;
    odd[i] = 2 * i + 1;
  }
  expect_merged(even, odd);
  expect_merged(odd, even);
}

TEST_F(merge_test, merges_runs_of_very_different_lengths) {
  const std::vector<u64> large = sorted_numbers<u64>((u64(1) << 21) + 5, 1, 0);
  for (const u64 small : {1u, 3u, 1000u}) {
    expect_merged(large, sorted_numbers<u64>(small, 2, 0));
    expect_merged(sorted_numbers<u64>(small, 3, 0), large);
  }
}

TEST_F(merge_test, merges_with_fewer_blocks_than_tiles) {
  expect_merged(sorted_numbers<u64>(200003, 1, 1000), sorted_numbers<u64>(100001, 2, 1000), ascending{}, 7);
}

TEST_F(merge_test, merges_keys_of_sixteen_bytes_and_more) {
  for (const u64 n : {33u, 5000u, 70001u}) {
    std::vector<wide_key> wide[2];
    std::vector<broad_key> broad[2];
    for (u32 run = 0; run < 2; ++run) {
      for (const u64 word : random_words(n + run, n + run)) {
        wide[run].push_back({word % 16, u32(word >> 32) % 64, u32(word)});
        broad[run].push_back({{word, word + 1, word + 2, word + 3, word + 4, word + 5, word % 1000}});
      }
      std::stable_sort(wide[run].begin(), wide[run].end());
      std::stable_sort(broad[run].begin(), broad[run].end());
    }
    expect_merged(wide[0], wide[1]);
    expect_merged(broad[0], broad[1]);
  }
}

TEST_F(merge_test, orders_doubles_with_nans_last_and_zeros_equal) {
  std::vector<double> runs[2];
  std::mt19937_64 random(5);
  for (u32 run = 0; run < 2; ++run) {
    for (u32 i = 0; i < 50000 + run; ++i) {
      switch (random() % 8) {
        case 0: runs[run].push_back(std::numeric_limits<double>::quiet_NaN()); break;
        case 1: runs[run].push_back(-std::numeric_limits<double>::quiet_NaN()); break;
        case 2: runs[run].push_back(-0.0); break;
        case 3: runs[run].push_back(0.0); break;
        case 4: runs[run].push_back(std::numeric_limits<double>::infinity()); break;
        default: runs[run].push_back(double(i64(random())));
      }
    }
    std::stable_sort(runs[run].begin(), runs[run].end(), by_sort_key{});
  }
  expect_merged(runs[0], runs[1], by_sort_key{});
}

using round_policy = merge_policy<u64, u64>;

// Pair p of a round: runs 2p and 2p + 1, of which the second may be missing.
struct run_pair {
  u64 first, na, nb;
  __device__ run_pair(const u64* starts, u32 runs) {
    const u32 left = 2 * blockIdx.y;
    first = starts[left];
    na = starts[left + 1] - first;
    nb = left + 2 <= runs ? starts[left + 2] - starts[left + 1] : 0;
  }
};

__global__ void split_round(const u64* starts, u32 runs, const u64* in, u64* temp, u64 temp_words) {
  const run_pair p(starts, runs);
  merge_split<round_policy>(
      p.na, p.nb, temp + blockIdx.y * temp_words, [=](u64 i) { return in[p.first + i]; }, [=](u64 i) { return in[p.first + p.na + i]; },
      ascending{});
}

__global__ __launch_bounds__(round_policy::threads, round_policy::blocks) void merge_round(const u64* starts, u32 runs, const u64* in,
                                                                                           const u64* in_rows, const u64* temp,
                                                                                           u64 temp_words, u64* out, u64* out_rows) {
  const run_pair p(starts, runs);
  const u64 middle = p.first + p.na;
  merge_runs<round_policy, u64, u64>(
      p.na, p.nb, temp + blockIdx.y * temp_words, [=](u64 i) { return in[p.first + i]; }, [=](u64 i) { return in[middle + i]; },
      [=](u64 i) { return in_rows[p.first + i]; }, [=](u64 i) { return in_rows[middle + i]; }, ascending{},
      [=](u64 at, u64 key) { out[p.first + at] = key; }, [=](u64 at, u64 row) { out_rows[p.first + at] = row; });
}

TEST_F(merge_test, merges_several_runs_in_rounds_of_pairs) {
  for (const u32 runs : {1u, 2u, 3u, 7u, 16u}) {
    std::vector<u64> starts = {0}, x;
    for (u32 r = 0; r < runs; ++r) {
      const std::vector<u64> run = sorted_numbers<u64>(r % 5 == 3 ? 0 : 5000 * r + 17, r, 3000);
      x.insert(x.end(), run.begin(), run.end());
      starts.push_back(x.size());
    }
    std::vector<u64> expected(x.size());
    std::iota(expected.begin(), expected.end(), u64(0));
    std::stable_sort(expected.begin(), expected.end(), [&](u64 a, u64 b) { return x[a] < x[b]; });

    std::vector<u64> numbers(x.size());
    std::iota(numbers.begin(), numbers.end(), u64(0));
    const device_array<u64> keys0(x), rows0(numbers), keys1(x.size()), rows1(x.size());
    u64* in = keys0.data();
    u64* in_rows = rows0.data();
    u64* out = keys1.data();
    u64* out_rows = rows1.data();
    while (starts.size() > 2) {
      const u32 left = u32(starts.size()) - 1, pairs = (left + 1) / 2;
      std::vector<u64> joined;
      u64 longest = 0;
      for (u32 p = 0; p < pairs; ++p) {
        joined.push_back(starts[2 * p]);
        longest = std::max(longest, starts[std::min(2 * p + 2, left)] - starts[2 * p]);
      }
      joined.push_back(starts.back());
      const u64 words = merge_temp_bytes<round_policy>(longest) / 8;
      const device_array<u64> device_starts(starts), temp(words * pairs);
      const dim3 split_grid(unsigned(merge_split_blocks<round_policy>(longest)), pairs);
      const dim3 grid(unsigned(merge_blocks<round_policy>(longest)), pairs);
      split_round<<<split_grid, round_policy::split_threads>>>(device_starts.data(), left, in, temp.data(), words);
      merge_round<<<grid, round_policy::threads>>>(device_starts.data(), left, in, in_rows, temp.data(), words, out, out_rows);
      finish();
      std::swap(in, out);
      std::swap(in_rows, out_rows);
      starts = joined;
    }
    std::vector<u64> got(x.size());
    QUERY_TEST_CUDA(cudaMemcpy(got.data(), in_rows, got.size() * 8, cudaMemcpyDeviceToHost));
    EXPECT_TRUE(got == expected) << runs << " runs";
  }
}

// Places beyond 32 bits: the runs are 0, 2, 4... and 1, 3, 5..., computed.
using number_policy = merge_policy<u64, no_value>;
__global__ void split_numbers(u64 na, u64 nb, u64* temp) {
  merge_split<number_policy>(
      na, nb, temp, [](u64 i) { return 2 * i; }, [](u64 i) { return 2 * i + 1; }, ascending{});
}
__global__ __launch_bounds__(number_policy::threads, number_policy::blocks) void merge_numbers(u64 na, u64 nb, const u64* temp,
                                                                                               u64* wrong) {
  const auto none = [](u64) { return no_value(); };
  merge_runs<number_policy, u64, no_value>(
      na, nb, temp, [](u64 i) { return 2 * i; }, [](u64 i) { return 2 * i + 1; }, none, none, ascending{},
      [=](u64 at, u64 key) {
        if (key != at) atomicAdd(wrong, u64(1));
      },
      [](u64, no_value) {});
}

TEST_F(merge_test, merges_more_than_2_to_the_32_rows) {
  const u64 half = (u64(1) << 31) + 12345;
  const device_array<u64> temp(merge_temp_bytes<number_policy>(2 * half) / 8), wrong(1, 0);
  split_numbers<<<unsigned(merge_split_blocks<number_policy>(2 * half)), number_policy::split_threads>>>(half, half, temp.data());
  merge_numbers<<<unsigned(merge_blocks<number_policy>(2 * half)), number_policy::threads>>>(half, half, temp.data(), wrong.data());
  finish();
  EXPECT_EQ(wrong.to_host()[0], 0u);
}

}  // namespace
}  // namespace query::gpu::test
