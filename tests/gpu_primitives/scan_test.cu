// Scans against a host loop: sums of all widths, a non-commuting operation, a value of many words, rows beyond 2^31.
#include "gpu_primitives/scan.cuh"

#include "device.cuh"

namespace query::gpu::test {
namespace {

class scan_test : public on_device {};

struct plus {
  template <class T>
  __device__ T operator()(const T& a, const T& b) const {
    return T(a + b);
  }
};

template <class T, bool Inclusive>
__global__ void scan_sums(const u64* x, u64 n, void* temp, T* out, T* total) {
  const auto load = [=](u64 i) { return T(x[i]); };
  const auto write = [=](u64 i, const T& v) { out[i] = v; };
  const auto end = [=](const T& v) { *total = v; };
  if constexpr (Inclusive) {
    inclusive_scan<scan_policy<T>, T>(n, temp, T(0), load, plus(), write, end);
  } else {
    exclusive_scan<scan_policy<T>, T>(n, temp, T(0), load, plus(), write, end);
  }
}

template <class T, bool Inclusive>
void expect_sums(const std::vector<u64>& x) {
  using policy = scan_policy<T>;
  const u64 n = x.size();
  std::vector<T> expected(n);
  T sum = 0;
  for (u64 i = 0; i < n; ++i) {
    const T before = sum;
    sum = T(sum + T(x[i]));
    expected[i] = Inclusive ? sum : before;
  }
  const device_array<u64> in(x);
  const device_array<T> out(n), total(1);
  const auto temp = zeroed(scan_temp_bytes<policy, T>(n));
  const auto kernel = scan_sums<T, Inclusive>;
  kernel<<<unsigned(scan_blocks<policy>(n, resident_blocks(kernel, policy::threads))), policy::threads>>>(in.data(), n, temp.data(),
                                                                                                          out.data(), total.data());
  finish();
  EXPECT_EQ(total.to_host()[0], sum) << "n = " << n;
  EXPECT_TRUE(out.to_host() == expected) << "n = " << n;
}

TEST_F(scan_test, sums_of_every_width_match_a_loop) {
  for (const u64 n : interesting_sizes(scan_tile<scan_policy<u64>>())) {
    const std::vector<u64> x = random_words(n, n);
    expect_sums<u8, false>(x);
    expect_sums<u32, false>(x);
    expect_sums<u32, true>(x);
    expect_sums<u64, false>(x);
    expect_sums<u64, true>(x);
  }
  for (const u64 n : interesting_sizes(scan_tile<scan_policy<u32>>())) expect_sums<u32, true>(random_words(n, n));
}

// x -> scale * x + shift over integers modulo 2^64: composition does not commute, and the pair needs 16 bytes.
struct affine {
  u64 scale, shift;
};

struct then {
  QUERY_GPU_BOTH affine operator()(const affine& a, const affine& b) const { return {a.scale * b.scale, a.shift * b.scale + b.shift}; }
};

__global__ void compose(const u64* x, u64 n, void* temp, affine* out) {
  inclusive_scan<scan_policy<affine>, affine>(
      n, temp, affine{1, 0}, [=](u64 i) { return affine{x[i] | 1, x[i] >> 7}; }, then(), [=](u64 i, const affine& v) { out[i] = v; },
      [](const affine&) {});
}

TEST_F(scan_test, keeps_the_order_of_an_operation_that_does_not_commute) {
  using policy = scan_policy<affine>;
  for (const u64 n : interesting_sizes(scan_tile<policy>())) {
    const std::vector<u64> x = random_words(n, n + 1);
    const device_array<u64> in(x);
    const device_array<affine> out(n);
    const auto temp = zeroed(scan_temp_bytes<policy, affine>(n));
    compose<<<unsigned(scan_blocks<policy>(n, resident_blocks(compose, policy::threads))), policy::threads>>>(in.data(), n, temp.data(),
                                                                                                             out.data());
    finish();
    const std::vector<affine> got = out.to_host();
    affine expected{1, 0};
    u64 wrong = 0;
    for (u64 i = 0; i < n; ++i) {
      expected = then()(expected, {x[i] | 1, x[i] >> 7});
      wrong += got[i].scale != expected.scale || got[i].shift != expected.shift ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u) << "n = " << n;
  }
}

__global__ void number_rows(u64 n, void* temp, u64* total_and_wrong) {
  exclusive_scan<scan_policy<u64>, u64>(
      n, temp, u64(0), [](u64) { return u64(3); }, plus(),
      [=](u64 i, u64 before) {
        if (before != 3 * i) atomicAdd(total_and_wrong + 1, u64(1));
      },
      [=](u64 sum) { *total_and_wrong = sum; });
}

TEST_F(scan_test, reaches_rows_beyond_2_to_the_32) {
  using policy = scan_policy<u64>;
  const u64 n = (u64(1) << 32) + 99;
  const device_array<u64> result(2, 0);
  const auto temp = zeroed(scan_temp_bytes<policy, u64>(n));
  number_rows<<<unsigned(scan_blocks<policy>(n, resident_blocks(number_rows, policy::threads))), policy::threads>>>(n, temp.data(),
                                                                                                                   result.data());
  finish();
  EXPECT_EQ(result.to_host(), (std::vector<u64>{3 * n, 0}));
}

}  // namespace
}  // namespace query::gpu::test
