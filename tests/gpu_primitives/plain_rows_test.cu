// partition, histogram, top_k and segments beyond 2^31 rows. Rows are computed, and so is what each place must hold: hardly any memory is
// taken but the primitives' own.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "device.cuh"
#include "gpu_primitives/atomics.cuh"
#include "gpu_primitives/histogram.cuh"
#include "gpu_primitives/partition.cuh"
#include "gpu_primitives/segments.cuh"
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

// Neighbouring rows of one group, and whether they came in their order without a gap.
struct stretch {
  u64 begin, end;
  u32 rows_in_order, pad;
};
__device__ stretch joined(const stretch& a, const stretch& b) {
  if (a.begin == a.end) return b;
  return {a.begin, b.end, a.rows_in_order && b.rows_in_order && a.end == b.begin, 0};
}

// Row i belongs to group i / length; a group must come once, with all of its rows.
struct stretches_out {
  u64 n, length;
  u8* seen;
  u64 *count, *wrong;
  __device__ void operator()(u32 group, const stretch& s) const {
    const u64 begin = u64(group) * length;
    if (!s.rows_in_order || s.begin != begin || s.end != smaller(begin + length, n)) atomic_add(wrong, u64(1));
    seen[group] = 1;
    atomic_add(count, u64(1));
  }
};
__global__ void stretches_kernel(segment_level<stretch> to, stretches_out emit) {
  fold_rows(
      emit.n, to, [=](u64 place) { return u32(place / emit.length); }, [](stretch& s) { s = {0, 0, 1, 0}; },
      [=](stretch& s, u64 place, bool first) {
        s = joined(s, {place, place + 1, first == (place % emit.length == 0), 0});
      },
      emit);
}
__global__ void joined_kernel(u64 n, segment_level<stretch> in, segment_level<stretch> to, stretches_out emit) {
  fold_states(
      n, in, to, [](stretch& earlier, const stretch& later) { earlier = joined(earlier, later); }, emit);
}
__global__ void unseen_kernel(const u8* seen, u64 n, u64* wrong) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    if (seen[i] != 1) atomic_add(wrong, u64(1));
  }
}

struct stretch_level {
  device_array<u64> marks;
  device_array<stretch> states;
  explicit stretch_level(u64 items_before) : marks(segment_states(items_before)), states(segment_states(items_before)) {}
  segment_level<stretch> ref() const { return {marks.data(), states.data()}; }
};

TEST_F(plain_rows_test, segments_fold_in_order_beyond_2_to_the_31) {
  std::size_t free = 0, total = 0;
  QUERY_TEST_CUDA(cudaMemGetInfo(&free, &total));
  if (free < std::size_t(8) << 30) GTEST_SKIP() << "8 GiB of GPU memory are needed: this test did not run";
  const auto blocks = [](u64 items) { return unsigned(std::min<u64>(divide_up(segment_pieces(items), 256), 132 * 8)); };
  // More than 2^31 groups; groups that end within pieces and across them; long ones; a single one.
  for (const u64 length : {u64(1), u64(7), u64(1000003), many}) {
    const u64 groups = divide_up(many, length);
    const device_array<u8> seen(groups, 0);
    const device_array<u64> count(1, 0), wrong(1, 0);
    const stretches_out emit{many, length, seen.data(), count.data(), wrong.data()};
    auto to = std::make_unique<stretch_level>(many);
    stretches_kernel<<<blocks(many), 256>>>(to->ref(), emit);
    for (u64 items = many; segment_pieces(items) > 1;) {
      items = segment_states(items);
      const auto in = std::move(to);
      to = std::make_unique<stretch_level>(items);
      joined_kernel<<<blocks(items), 256>>>(items, in->ref(), to->ref(), emit);
      finish();
    }
    unseen_kernel<<<2048, 256>>>(seen.data(), groups, wrong.data());
    finish();
    EXPECT_EQ(count.to_host()[0], groups) << "groups of " << length << " rows";
    EXPECT_EQ(wrong.to_host()[0], 0u) << "groups of " << length << " rows";
  }
}

}  // namespace
}  // namespace query::gpu::test
