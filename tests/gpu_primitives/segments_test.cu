// segments: runs of equal groups folded in order, against a host loop, with a fold that tells any other order.
#include "gpu_primitives/segments.cuh"

#include <algorithm>
#include <memory>
#include <utility>

#include "device.cuh"

namespace query::gpu::test {
namespace {

class segments_test : public on_device {};

// A word read as digits in base 31: changes with the order of its letters. Of a part, what the letters before it are multiplied by.
struct word {
  u64 value, weight;
  u32 letters, firsts;
};
constexpr u64 base = 31;

struct fold {
  const u64* letters;
  static __device__ void start(word& w) { w = {0, 1, 0, 0}; }
  __device__ void add(word& w, u64 place, bool first) const {
    w.value = w.value * base + letters[place];
    w.weight *= base;
    ++w.letters;
    w.firsts += first ? 1 : 0;
  }
  static __device__ void merge(word& earlier, const word& later) {
    earlier.value = earlier.value * later.weight + later.value;
    earlier.weight *= later.weight;
    earlier.letters += later.letters;
    earlier.firsts += later.firsts;
  }
};

struct words_out {
  word* words;
  u32* times;  // a group must come once
  __device__ void operator()(u32 group, const word& w) const {
    words[group] = w;
    atomicAdd(times + group, 1u);
  }
};

__global__ void rows_kernel(u64 n, segment_level<word> to, const u32* groups, fold f, words_out emit) {
  fold_rows(
      n, to, [=](u64 place) { return groups[place]; }, [](word& w) { fold::start(w); },
      [=](word& w, u64 place, bool first) { f.add(w, place, first); }, emit);
}
__global__ void states_kernel(u64 n, segment_level<word> in, segment_level<word> to, words_out emit) {
  fold_states(
      n, in, to, [](word& earlier, const word& later) { fold::merge(earlier, later); }, emit);
}

struct level {
  device_array<u64> marks;
  device_array<word> states;
  explicit level(u64 items_before) : marks(segment_states(items_before), 0xa5), states(segment_states(items_before), 0xa5) {}
  segment_level<word> ref() const { return {marks.data(), states.data()}; }
};

// `groups` ascends; returns how many levels of states there were.
int expect_folded(const std::vector<u32>& groups) {
  const u64 n = groups.size(), most = n == 0 ? 1 : groups.back() + 1;
  const std::vector<u64> letters = random_words(n, n + 3);
  std::vector<word> expected(most, word{0, 1, 0, 0});
  for (u64 i = 0; i < n; ++i) {
    word& w = expected[groups[i]];
    w.value = w.value * base + letters[i];
    w.weight *= base;
    ++w.letters;
    w.firsts = 1;
  }
  const device_array<u32> device_groups(groups), times(most, 0);
  const device_array<u64> device_letters(letters);
  const device_array<word> out(most, 0);
  const words_out emit{out.data(), times.data()};
  const auto blocks = [](u64 items) { return unsigned(std::min<u64>(divide_up(larger<u64>(segment_pieces(items), 1), 64), 777)); };
  auto to = std::make_unique<level>(n);
  rows_kernel<<<blocks(n), 64>>>(n, to->ref(), device_groups.data(), fold{device_letters.data()}, emit);
  finish();
  int levels = 0;
  for (u64 items = n; segment_pieces(items) > 1; ++levels) {
    items = segment_states(items);
    const auto in = std::move(to);
    to = std::make_unique<level>(items);
    states_kernel<<<blocks(items), 64>>>(items, in->ref(), to->ref(), emit);
    finish();
  }
  const auto got = out.to_host();
  const auto seen = times.to_host();
  for (u64 g = 0; g < most; ++g) {
    EXPECT_EQ(seen[g], expected[g].letters == 0 ? 0u : 1u) << "group " << g << " of " << n << " rows";
    if (expected[g].letters == 0) continue;
    EXPECT_EQ(got[g].value, expected[g].value) << "group " << g << " of " << n << " rows";
    EXPECT_EQ(got[g].letters, expected[g].letters) << "group " << g << " of " << n << " rows";
    EXPECT_EQ(got[g].firsts, 1u) << "group " << g << " of " << n << " rows";
    if (::testing::Test::HasFailure()) break;
  }
  return levels;
}

// Groups of the lengths in turn.
std::vector<u32> runs(const std::vector<u64>& lengths, u64 n) {
  std::vector<u32> groups;
  for (u32 g = 0; groups.size() < n; ++g) groups.insert(groups.end(), std::min<u64>(lengths[g % lengths.size()], n - groups.size()), g);
  return groups;
}

TEST_F(segments_test, folds_groups_of_any_length_in_order) {
  const u64 piece = segment_piece;
  const std::vector<std::vector<u64>> shapes = {{1},     {2},         {piece - 1},           {piece},      {piece + 1},
                                                {3, 50}, {1, 1, 200}, {piece * piece, 1, 7}, {5000, 1, 1}, {~u64(0) >> 1}};
  for (const u64 n : interesting_sizes(piece * piece)) {
    for (const auto& lengths : shapes) {
      expect_folded(runs(lengths, n));
      if (HasFailure()) FAIL() << n << " rows, groups from " << lengths[0] << " rows";
    }
  }
}

TEST_F(segments_test, folds_groups_of_random_lengths_in_order) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 20; ++round) {
    std::vector<u64> lengths(997);
    for (u64& length : lengths) length = 1 + random() % (u64(1) << random() % 14);
    expect_folded(runs(lengths, 1 + random() % 300000));
    if (HasFailure()) FAIL() << "round " << round << " of seed 17";
  }
}

TEST_F(segments_test, takes_several_levels) { EXPECT_GE(expect_folded(std::vector<u32>(1 << 20, 0)), 4); }

__global__ void quantile_kernel(const double* sorted, u64 n, const double* q, u32 count, double* out) {
  const u32 i = threadIdx.x;
  if (i < count) out[i] = quantile_of_sorted(n, q[i], [=](u64 at) { return sorted[at]; });
}

TEST_F(segments_test, quantiles_lie_between_neighbours) {
  const std::vector<double> sorted = {1, 2, 4, 8, 16}, q = {-1, 0, 0.25, 0.5, 0.625, 0.9, 1, 2};
  const std::vector<double> expected = {1, 1, 2, 4, 6, 12.8, 16, 16};
  const device_array<double> in(sorted), at(q), out(q.size());
  quantile_kernel<<<1, 32>>>(in.data(), sorted.size(), at.data(), u32(q.size()), out.data());
  finish();
  const auto got = out.to_host();
  for (u64 i = 0; i < q.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12) << "q = " << q[i];
  quantile_kernel<<<1, 32>>>(in.data(), 1, at.data(), u32(q.size()), out.data());
  finish();
  for (const double v : out.to_host()) EXPECT_EQ(v, 1.0);
}

}  // namespace
}  // namespace query::gpu::test
