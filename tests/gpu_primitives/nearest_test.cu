// Nearest rows on the tensor cores (gpu_engine/device/nearest.cuh) against the expression by itself, row by row:
// lengths that fill no step, tables that fill no stage, ties, numbers that are no numbers, numbers of all sizes. And
// sums by label.
#include "gpu_engine/device/nearest.cuh"

#include <cmath>
#include <limits>

#include "gpu_engine/device/labelled_sums.cuh"
#include "gpu_primitives/atomics.cuh"

#include "device.cuh"

using namespace query::gpu;
using query::gpu::test::device_array;
using query::gpu::test::finish;

namespace {

template <u32 D> struct row { float x[D]; };
template <u32 D> __device__ __forceinline__ float distance(const float* a, const float* b) {
  float s = 0;
  for (u32 e = 0; e < D; ++e) {
    const float d = __fsub_rn(a[e], b[e]);
    s = __fadd_rn(s, __fmul_rn(d, d));
  }
  return s;
}
template <u32 D> constexpr u32 alignment = D % 4 == 0 ? 16 : D % 2 == 0 ? 8 : 4;

template <u32 D>
__global__ void __launch_bounds__(nearest_prepare_threads) prepare(uint4* table, const row<D>* c, u32 k) {
  prepare_nearest<D>(table, k, [&](u64 j) { return c[j].x; });
}
template <u32 D, bool Again>
__global__ void __launch_bounds__(nearest_threads)
    search(u64 n, const row<D>* p, const uint4* table, u64* answers, nearest_lists out) {
  extern __shared__ uint4 shared[];
  nearest_rows<D, alignment<D>, Again>(
      n, table, D, [&](u64 i) { return p[i].x; }, answers, out, shared);
}
template <u32 D>
__global__ void compare(const row<D>* p, const row<D>* c, u64* answers, u64* too_many, nearest_lists in) {
  compare_exactly(in, answers, too_many, [&](u64 i, u64 j) { return distance<D>(p[i].x, c[j].x); });
}
template <u32 D> __global__ void one_by_one(u64 n, const row<D>* p, const row<D>* c, u32 k, u32* answers) {
  const u64 i = blockIdx.x * 128ull + threadIdx.x;
  if (i >= n) return;
  float best = 0;
  for (u32 j = 0; j < k; ++j) {
    const float d = distance<D>(p[i].x, c[j].x);
    if (j == 0 || d < best) best = d, answers[i] = j;
  }
}

enum class numbers { spread, tied, far_away, huge, tiny, special };

template <u32 D> std::vector<row<D>> rows_of(std::size_t n, numbers kind, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> bell;
  std::vector<row<D>> all(n);
  for (row<D>& r : all)
    for (float& x : r.x) {
      x = bell(random);
      const unsigned dice = random() % (9 * D);
      if (kind == numbers::tied)
        x = static_cast<float>(random() % 3);
      else if (kind == numbers::far_away)
        x += 10000.0f;
      else if (kind == numbers::huge)
        x *= 1e19f;
      else if (kind == numbers::tiny)
        x *= 1e-22f;
      else if (kind == numbers::special)
        x = dice == 0   ? std::numeric_limits<float>::quiet_NaN()
            : dice == 1 ? -std::numeric_limits<float>::infinity()
            : dice == 2 ? x * 1e30f
            : dice == 3 ? x * 1e-30f
                        : x;
    }
  return all;
}

class nearest : public query::gpu::test::on_device {};

template <u32 D> void check(u64 n, u32 k, numbers kind, bool first_is_nan = false) {
  SCOPED_TRACE(std::to_string(D) + " numbers, a table of " + std::to_string(k) + ", kind " +
               std::to_string(static_cast<int>(kind)));
  auto table_rows = rows_of<D>(k, kind, 5);
  if (first_is_nan) table_rows[0].x[D - 1] = std::numeric_limits<float>::quiet_NaN();
  const device_array<row<D>> p(rows_of<D>(n, kind, 6)), c(table_rows);
  const device_array<unsigned char> table(nearest_table_bytes(k, D));
  const device_array<u64> answers(n), counters(3, 0);
  const device_array<nearest_pair> pairs(n * k);
  const device_array<nearest_listed> listed(n);
  const device_array<u32> wanted(n);
  const nearest_lists lists{pairs.data(), counters.data(), n * k, listed.data(), counters.data() + 1};
  auto* const prepared = reinterpret_cast<uint4*>(table.data());
  prepare<D><<<1, nearest_prepare_threads>>>(prepared, c.data(), k);
  const u32 shared = nearest_shared_bytes(k, D);
  const auto grid = static_cast<unsigned>(divide_up(n, 2 * nearest_block_rows));  // each block has two turns
  query::gpu::test::resident_blocks(search<D, false>, nearest_threads, shared);
  query::gpu::test::resident_blocks(search<D, true>, nearest_threads, shared);
  search<D, false><<<grid, nearest_threads, shared>>>(n, p.data(), prepared, answers.data(), lists);
  search<D, true><<<grid, nearest_threads, shared>>>(n, p.data(), prepared, answers.data(), lists);
  compare<D><<<64, 256>>>(p.data(), c.data(), answers.data(), counters.data() + 2, lists);
  one_by_one<D><<<static_cast<unsigned>(divide_up(n, 128)), 128>>>(n, p.data(), c.data(), k, wanted.data());
  finish();
  EXPECT_EQ(counters.to_host()[2], 0u) << "room for all pairs was too little";
  const auto found = answers.to_host();
  const auto right = wanted.to_host();
  u64 wrong = 0;
  for (u64 i = 0; i < n; ++i)
    if (static_cast<u32>(found[i]) != right[i] && wrong++ < 3)
      ADD_FAILURE() << "row " << i << ": " << std::hex << found[i] << ", not " << right[i];
  EXPECT_EQ(wrong, 0u);
}

TEST_F(nearest, equals_the_expression_whatever_the_numbers) {
  for (const numbers kind :
       {numbers::spread, numbers::tied, numbers::far_away, numbers::huge, numbers::tiny, numbers::special}) {
    check<20>(3001, 80, kind);
    check<1>(2000, 77, kind);
    check<37>(2000, 121, kind);
    check<128>(1000, 50, kind);
  }
  check<5>(1000, 1, numbers::spread);
  check<40>(100, 3, numbers::tied);
  check<16>(5000, 1000, numbers::tied);
  check<20>(3000, 80, numbers::spread, true);
  check<20>(3000, 80, numbers::special, true);
}

TEST_F(nearest, says_that_there_was_too_little_room) {
  const u64 n = 1000;
  const u32 k = 32;
  const device_array<row<4>> p(rows_of<4>(n, numbers::spread, 1)),
      c(std::vector<row<4>>{k, row<4>{}});  // all the same: every column is a tie
  const device_array<unsigned char> table(nearest_table_bytes(k, 4));
  const device_array<u64> answers(n), counters(3, 0);
  const device_array<nearest_pair> pairs(n);
  const device_array<nearest_listed> listed(n);
  const nearest_lists lists{pairs.data(), counters.data(), n, listed.data(), counters.data() + 1};
  auto* const prepared = reinterpret_cast<uint4*>(table.data());
  prepare<4><<<1, nearest_prepare_threads>>>(prepared, c.data(), k);
  search<4, false><<<4, nearest_threads, nearest_shared_bytes(k, 4)>>>(n, p.data(), prepared, answers.data(), lists);
  search<4, true><<<4, nearest_threads, nearest_shared_bytes(k, 4)>>>(n, p.data(), prepared, answers.data(), lists);
  compare<4><<<4, 256>>>(p.data(), c.data(), answers.data(), counters.data() + 2, lists);
  finish();
  EXPECT_EQ(counters.to_host()[2], 1u);
}

template <u32 D> struct sums {
  struct State {
    double sum[D];
    u64 rows;
  };
  struct Args {
    const float* at;
  };
  static constexpr u32 elements = D;
  static __device__ const float* array_of(const Args& a) { return a.at; }
  static __device__ void add_element_atomic(State& s, u32 e, double v) { atomic_add(&s.sum[e], v); }
  static __device__ void add_rows_atomic(State& s, u32 n) { atomic_add(&s.rows, u64(n)); }
};
template <u32 D>
__global__ void __launch_bounds__(labelled_threads)
    sum(u64 n, u32 labels, u32 stretch, const row<D>* p, typename sums<D>::State* states, u32* counts) {
  extern __shared__ __align__(16) unsigned char memory[];
  sum_by_label<sums<D>>(
      n, labels, stretch,
      [&](u64 i, u32& label, typename sums<D>::Args& a) {
        label = static_cast<u32>(i * i % 1009 % labels);
        a.at = p[i].x;
        return i % 3 != 0;
      },
      states, counts, memory);
}
template <u32 D> void check_sums(u64 n, u32 labels, u32 stretch) {
  SCOPED_TRACE(std::to_string(D) + " numbers, " + std::to_string(labels) + " labels");
  const auto rows = rows_of<D>(n, numbers::spread, 9);
  const device_array<row<D>> p(rows);
  const device_array<typename sums<D>::State> states(labels, 0);
  const device_array<u32> counts(labels, 0);
  sum<D><<<static_cast<unsigned>(divide_up(n, stretch)), labelled_threads, labelled_shared_bytes(labels, stretch)>>>(
      n, labels, stretch, p.data(), states.data(), counts.data());
  finish();
  std::vector<typename sums<D>::State> wanted(labels);
  for (u64 i = 0; i < n; ++i) {
    if (i % 3 == 0) continue;
    auto& s = wanted[i * i % 1009 % labels];
    ++s.rows;
    for (u32 e = 0; e < D; ++e) s.sum[e] += static_cast<double>(rows[i].x[e]);
  }
  const auto found = states.to_host();
  const auto sizes = counts.to_host();
  for (u32 l = 0; l < labels; ++l) {
    EXPECT_EQ(found[l].rows, wanted[l].rows);
    EXPECT_EQ(sizes[l], wanted[l].rows);
    for (u32 e = 0; e < D; ++e) ASSERT_NEAR(found[l].sum[e], wanted[l].sum[e], 1e-9) << l << ", " << e;
  }
}

TEST_F(nearest, sums_by_label_count_every_row_once) {
  check_sums<8>(10007, 5, 2048);
  check_sums<40>(20000, 80, 2048);
  check_sums<128>(5000, 1000, 4096);
  check_sums<150>(3000, 7, 2048);
  check_sums<20>(100, 30, 2048);
}

}  // namespace
