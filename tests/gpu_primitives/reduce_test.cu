// reduce: every aggregate against a host loop, at the sizes where warps, blocks and tiles end.
#include "gpu_primitives/reduce.cuh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device.cuh"

namespace query::gpu::test {
namespace {

class reduce_test : public on_device {};

struct statistics {
  u64 count;
  i64 sum;
  i64 least;
  i64 greatest;
};
using statistics_policy = reduce_policy<statistics>;

struct combine_statistics {
  __device__ statistics operator()(const statistics& a, const statistics& b) const {
    return {a.count + b.count, a.sum + b.sum, smaller(a.least, b.least), larger(a.greatest, b.greatest)};
  }
};

constexpr statistics no_rows{0, 0, std::numeric_limits<i64>::max(), std::numeric_limits<i64>::min()};

// Rows whose low bit is set count; the rest is filtered away.
__global__ void fold_odd(const u64* x, u64 n, statistics identity, void* temp, statistics* out) {
  reduce<statistics_policy>(
      n, identity,
      [=](u64 i, statistics& into) {
        const i64 v = i64(x[i]) >> 8;
        if ((x[i] & 1) != 0) into = combine_statistics()(into, {1, v, v, v});
      },
      combine_statistics(), temp, [=](const statistics& all) { *out = all; });
}

TEST_F(reduce_test, folds_several_aggregates_of_filtered_rows) {
  for (const u64 n : interesting_sizes(u64(statistics_policy::threads) * statistics_policy::items)) {
    const std::vector<u64> x = random_words(n, n);
    statistics expected = no_rows;
    for (const u64 w : x) {
      const i64 v = i64(w) >> 8;
      if ((w & 1) == 0) continue;
      expected = {expected.count + 1, expected.sum + v, std::min(expected.least, v), std::max(expected.greatest, v)};
    }
    const device_array<u64> in(x);
    const device_array<statistics> out(1);
    const auto temp = zeroed(reduce_temp_bytes<statistics_policy, statistics>(n));
    for (int launch = 0; launch < 2; ++launch) {  // the second finds the temporary storage as the first left it
      fold_odd<<<unsigned(reduce_blocks<statistics_policy>(n)), statistics_policy::threads>>>(in.data(), n, no_rows, temp.data(),
                                                                                                           out.data());
      finish();
      const statistics got = out.to_host()[0];
      EXPECT_EQ(got.count, expected.count) << "n = " << n;
      EXPECT_EQ(got.sum, expected.sum) << "n = " << n;
      EXPECT_EQ(got.least, expected.least) << "n = " << n;
      EXPECT_EQ(got.greatest, expected.greatest) << "n = " << n;
    }
  }
}

using f64_policy = reduce_policy<double>;

__global__ void sum_f64(const double* x, u64 n, void* temp, double* out) {
  reduce<f64_policy>(
      n, 0.0, [=](u64 i, double& into) { into += x[i]; }, [](double a, double b) { return a + b; }, temp,
      [=](double sum) { *out = sum; });
}

TEST_F(reduce_test, repeats_a_floating_point_sum_bit_for_bit) {
  const u64 n = (u64(1) << 22) + 12345;
  std::vector<double> x(n);
  std::mt19937_64 random(7);
  long double exact = 0, magnitude = 0;
  for (double& v : x) {
    v = std::ldexp(double(i64(random())), int(random() % 40) - 80);
    exact += v;
    magnitude += std::fabs(v);
  }
  const device_array<double> in(x);
  const device_array<double> out(1);
  const auto temp = zeroed(reduce_temp_bytes<f64_policy, double>(n));
  double first = 0;
  for (int launch = 0; launch < 20; ++launch) {
    sum_f64<<<unsigned(reduce_blocks<f64_policy>(n)), f64_policy::threads>>>(in.data(), n, temp.data(), out.data());
    finish();
    const double got = out.to_host()[0];
    if (launch == 0) first = got;
    EXPECT_EQ(got, first);
  }
  EXPECT_NEAR(first, double(exact), double(magnitude) * 1e-12);
}

// Of rows that are taken one at a time: whole multiples of threads, one more, one fewer.
__global__ void sum_with_loops(const u64* x, u64 n, void* temp, u64* out) {
  reduce<reduce_loops_policy<u64>>(
      n, u64(0),
      [=](u64 i, u64& into) {
        for (u64 j = 0; j < i % 5; ++j) into += x[i];
      },
      [](u64 a, u64 b) { return a + b; }, temp, [=](u64 sum) { *out = sum; });
}

TEST_F(reduce_test, folds_rows_one_at_a_time) {
  using policy = reduce_loops_policy<u64>;
  for (const u64 n : interesting_sizes(policy::threads)) {
    std::vector<u64> x(n);
    u64 expected = 0;
    for (u64 i = 0; i < n; ++i) {
      x[i] = i * i + 1;
      expected += (i % 5) * x[i];
    }
    const device_array<u64> in(x), out(1);
    const auto temp = zeroed(reduce_temp_bytes<policy, u64>(n));
    sum_with_loops<<<unsigned(reduce_blocks<policy>(n)), policy::threads>>>(in.data(), n, temp.data(), out.data());
    finish();
    EXPECT_EQ(out.to_host()[0], expected) << "n = " << n;
  }
}

using u64_policy = reduce_policy<u64>;

__global__ void sum_rows(u64 n, void* temp, u64* out) {
  reduce<u64_policy>(
      n, u64(0), [](u64 i, u64& into) { into += i ^ 5; }, [](u64 a, u64 b) { return a + b; }, temp, [=](u64 sum) { *out = sum; });
}

TEST_F(reduce_test, counts_rows_in_64_bits) {
  const u64 n = (u64(1) << 32) + 16;  // i ^ 5 permutes each run of 8 rows
  const device_array<u64> out(1);
  const auto temp = zeroed(reduce_temp_bytes<u64_policy, u64>(n));
  sum_rows<<<unsigned(reduce_blocks<u64_policy>(n)), u64_policy::threads>>>(n, temp.data(), out.data());
  finish();
  EXPECT_EQ(out.to_host()[0], n / 2 * (n - 1));
}

}  // namespace
}  // namespace query::gpu::test
