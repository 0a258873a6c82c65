// sampled_bound against a sort of the sample: every place of it, ties, rows that do not count, samples of one row and of all.
#include "gpu_primitives/sampled_bound.cuh"

#include <algorithm>

#include "device.cuh"

namespace query::gpu::test {
namespace {

class sampled_bound_test : public on_device {};

using policy = sampled_bound_policy;

__global__ void look(const u64* x, u64 n, u32 samples, u64 counted, u64* keys, u8* counts) {
  sample_keys(n, samples, keys, counts, [=](u64 i, u64& key) {
    key = x[i];
    return counted == 0 || x[i] % counted != 0;
  });
}
__global__ __launch_bounds__(policy::threads) void choose(u64 n, u32 samples, u32 place, bool by_row, const u64* keys, const u8* counts,
                                                          u64* bound) {
  sampled_bound<policy>(n, samples, place, by_row, keys, counts, bound);
}

// Rows whose key is a multiple of `counted` do not count; 0: all do.
void expect_bounds(const std::vector<u64>& x, u32 samples, u64 counted) {
  const u64 n = x.size();
  std::vector<std::pair<u64, u64>> sample;  // keys and rows
  for (u32 j = 0; j < samples; ++j) {
    const u64 row = sampled_row(j, samples, n);
    if (counted == 0 || x[row] % counted != 0) sample.emplace_back(x[row], row);
  }
  std::sort(sample.begin(), sample.end());
  const device_array<u64> in(x), keys(samples), bound(2);
  const device_array<u8> counts(samples, 0);
  look<<<unsigned(divide_up(samples, 128)), 128>>>(in.data(), n, samples, counted, keys.data(), counts.data());
  for (const u32 place : {1u, 2u, 5u, samples / 3 + 1, samples, samples + 1}) {
    for (const bool by_row : {true, false}) {
      choose<<<1, policy::threads>>>(n, samples, place, by_row, keys.data(), counts.data(), bound.data());
      finish();
      std::vector<u64> expected{~u64(0), ~u64(0)};
      if (place <= sample.size()) expected = {sample[place - 1].first, by_row ? sample[place - 1].second : ~u64(0)};
      EXPECT_TRUE(bound.to_host() == expected) << n << " rows, place " << place << " of " << samples << ", by row " << by_row;
    }
  }
}

TEST_F(sampled_bound_test, is_the_row_at_its_place_in_the_sample) {
  for (const u64 n : {u64(1), u64(7), u64(5000), u64(300000)}) {
    for (const u32 samples : {1u, 3u, 1000u, policy::most}) {
      if (samples > n) continue;
      expect_bounds(random_words(n, n), samples, 0);
      expect_bounds(random_words(n, n + 1), samples, 3);
    }
  }
}

TEST_F(sampled_bound_test, cuts_rows_of_equal_keys_by_their_numbers) {
  std::vector<u64> x = random_words(200000, 1);
  for (u64& v : x) v %= 3;
  expect_bounds(x, policy::most, 0);
  expect_bounds(x, 777, 0);
  expect_bounds(std::vector<u64>(100000, ~u64(0)), 5000, 0);
  expect_bounds(std::vector<u64>(100000, 0), 5000, 0);
}

}  // namespace
}  // namespace query::gpu::test
