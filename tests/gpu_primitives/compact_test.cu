// compact: survivors, order and count against a host loop, for narrow and wide items, few and many survivors.
#include "gpu_primitives/compact.cuh"

#include "device.cuh"

namespace query::gpu::test {
namespace {

class compact_test : public on_device {};

struct wide_row {
  double price;
  u64 row;
  u32 quantity;
};

template <class T, class Policy>
__global__ void keep_below(const T* x, u64 n, T limit, void* temp, u64* count, T* out) {
  compact<Policy, T>(
      n, temp, count,
      [=](u64 i, T& item) {
        item = x[i];
        return item < limit;
      },
      [=](u64 at, const T& item) { out[at] = item; });
}

template <class T, class Policy>
void expect_rows_below(const std::vector<T>& x, T limit) {
  using policy = Policy;
  const u64 n = x.size();
  std::vector<T> expected;
  for (const T v : x) {
    if (v < limit) expected.push_back(v);
  }
  const device_array<T> in(x), out(n);
  const device_array<u64> count(1);
  const auto temp = zeroed(compact_temp_bytes<policy>(n));
  const u64 blocks = compact_blocks<policy>(n, resident_blocks(keep_below<T, policy>, policy::threads));
  keep_below<T, policy><<<unsigned(blocks), policy::threads>>>(in.data(), n, limit, temp.data(), count.data(), out.data());
  finish();
  ASSERT_EQ(count.to_host()[0], expected.size()) << "n = " << n;
  EXPECT_TRUE(out.to_host(expected.size()) == expected) << "n = " << n;
}

template <class T>
void expect_rows_below(const std::vector<T>& x, T limit) {
  expect_rows_below<T, compact_policy<T>>(x, limit);
  expect_rows_below<T, compact_loops_policy<T>>(x, limit);
}

template <class T>
std::vector<T> random_values(u64 n) {
  std::vector<T> out(n);
  std::mt19937_64 random(n + sizeof(T));
  for (T& v : out) v = T(random() % 100);
  return out;
}

TEST_F(compact_test, keeps_order_at_every_selectivity_and_size) {
  for (const u64 n : interesting_sizes(compact_tile<compact_policy<double>>())) {
    for (const int limit : {0, 1, 10, 50, 99, 100}) {
      expect_rows_below<double>(random_values<double>(n), limit);
      expect_rows_below<u32>(random_values<u32>(n), u32(limit));
      expect_rows_below<u8>(random_values<u8>(n), u8(limit));
    }
  }
}

TEST_F(compact_test, drops_rows_that_compare_false_with_nan) {
  std::vector<double> x = random_values<double>(100000);
  for (u64 i = 0; i < x.size(); i += 3) x[i] = std::numeric_limits<double>::quiet_NaN();
  expect_rows_below<double>(x, 50);
}

__global__ void project(const double* price, const u32* quantity, u64 n, void* temp, u64* count, double* out_price, u64* out_row,
                        u32* out_quantity) {
  compact<compact_policy<wide_row>, wide_row>(
      n, temp, count,
      [=](u64 i, wide_row& r) {
        r.quantity = quantity[i];
        if (r.quantity % 3 != 0) return false;
        r.price = price[i] * 2;
        r.row = i;
        return true;
      },
      [=](u64 at, const wide_row& r) {
        out_price[at] = r.price;
        out_row[at] = r.row;
        out_quantity[at] = r.quantity;
      });
}

TEST_F(compact_test, filters_and_projects_several_columns) {
  using policy = compact_policy<wide_row>;
  for (const u64 n : interesting_sizes(compact_tile<policy>())) {
    const std::vector<double> price = random_values<double>(n);
    const std::vector<u32> quantity = random_values<u32>(n);
    const device_array<double> d_price(price), out_price(n);
    const device_array<u32> d_quantity(quantity), out_quantity(n);
    const device_array<u64> out_row(n), count(1);
    const auto temp = zeroed(compact_temp_bytes<policy>(n));
    project<<<unsigned(compact_blocks<policy>(n, resident_blocks(project, policy::threads))), policy::threads>>>(
        d_price.data(), d_quantity.data(), n, temp.data(), count.data(), out_price.data(), out_row.data(), out_quantity.data());
    finish();
    std::vector<double> expected_price;
    std::vector<u64> expected_row;
    std::vector<u32> expected_quantity;
    for (u64 i = 0; i < n; ++i) {
      if (quantity[i] % 3 != 0) continue;
      expected_price.push_back(price[i] * 2);
      expected_row.push_back(i);
      expected_quantity.push_back(quantity[i]);
    }
    ASSERT_EQ(count.to_host()[0], expected_row.size()) << "n = " << n;
    EXPECT_TRUE(out_price.to_host(expected_row.size()) == expected_price) << "n = " << n;
    EXPECT_TRUE(out_row.to_host(expected_row.size()) == expected_row) << "n = " << n;
    EXPECT_TRUE(out_quantity.to_host(expected_row.size()) == expected_quantity) << "n = " << n;
  }
}

__global__ void keep_multiples(u64 n, u64 step, void* temp, u64* count, u64* wrong) {
  compact<compact_policy<u64>, u64>(
      n, temp, count,
      [=](u64 i, u64& item) {
        item = i;
        return i % step == 0;
      },
      [=](u64 at, const u64& item) {
        if (item != at * step) atomicAdd(wrong, u64(1));
      });
}

TEST_F(compact_test, places_rows_behind_2_to_the_32) {
  using policy = compact_policy<u64>;
  const u64 n = (u64(1) << 32) + 4321;
  const device_array<u64> count(2, 0);
  const auto temp = zeroed(compact_temp_bytes<policy>(n));
  keep_multiples<<<unsigned(compact_blocks<policy>(n, resident_blocks(keep_multiples, policy::threads))), policy::threads>>>(
      n, 1, temp.data(), count.data(), count.data() + 1);
  finish();
  EXPECT_EQ(count.to_host(), (std::vector<u64>{n, 0}));
}

TEST_F(compact_test, does_not_depend_on_the_number_of_blocks) {
  using policy = compact_policy<u64>;
  const u64 n = 1000003;
  for (const u32 blocks : {1u, 2u, 7u, 5000u}) {
    const device_array<u64> count(2, 0);
    const auto temp = zeroed(compact_temp_bytes<policy>(n));
    keep_multiples<<<blocks, policy::threads>>>(n, 7, temp.data(), count.data(), count.data() + 1);
    finish();
    EXPECT_EQ(count.to_host(), (std::vector<u64>{divide_up(n, 7), 0})) << blocks << " blocks";
  }
}

}  // namespace
}  // namespace query::gpu::test
