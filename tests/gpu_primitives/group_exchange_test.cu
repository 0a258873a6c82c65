// Pairs are put apart by the hash of their key: every pair once, part behind part, whatever the size of a state.
#include "gpu_primitives/group_exchange.cuh"

#include <algorithm>

#include "device.cuh"

namespace query::gpu::test {
namespace {

class group_exchange_test : public on_device {};

template <u32 Words> struct state {
  u64 words[Words];
};
template <u32 Words> using pair_of = group_partial<u64, state<Words>>;
using keys = bitwise_keys<u64>;

template <u32 Words> __global__ void count(const pair_of<Words>* pairs, u64 n, u32 parts, u64* counts) {
  count_pairs<keys, state<Words>>(pairs, n, parts, counts, keys{});
}
template <u32 Words>
__global__ void scatter(const pair_of<Words>* pairs, u64 n, u32 parts, const u64* counts, u64* cursors, pair_of<Words>* out) {
  scatter_pairs<keys, state<Words>>(pairs, n, parts, counts, cursors, out, keys{});
}
__global__ void places(const u64* k, u64 n, u32 parts, u32* out) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x)
    out[i] = exchange_part(keys{}.hash(k[i]), parts);
}

template <u32 Words> void check(u64 n, u32 parts) {
  SCOPED_TRACE("n = " + std::to_string(n) + ", parts = " + std::to_string(parts) + ", words = " + std::to_string(Words));
  std::vector<pair_of<Words>> in(n);
  for (u64 i = 0; i < n; ++i) {
    in[i].key = i * 977 + 5;
    for (u32 w = 0; w < Words; ++w) in[i].state.words[w] = in[i].key * (w + 2);
  }
  const device_array<pair_of<Words>> pairs(in), out(n, 0xa5);
  const device_array<u64> counts(parts, 0), cursors(parts, 0);
  const unsigned grid = static_cast<unsigned>(std::clamp<u64>(n / 2048, 1, 132 * 16));
  count<Words><<<grid, 256>>>(pairs.data(), n, parts, counts.data());
  scatter<Words><<<grid, 256>>>(pairs.data(), n, parts, counts.data(), cursors.data(), out.data());
  finish();
  const std::vector<pair_of<Words>> apart = out.to_host();
  std::vector<u64> own(n);
  for (u64 i = 0; i < n; ++i) own[i] = apart[i].key;
  const device_array<u64> own_keys(own);
  const device_array<u32> part_of(n, 0);
  places<<<132, 256>>>(own_keys.data(), n, parts, part_of.data());
  finish();
  const std::vector<u32> parts_of = part_of.to_host();
  const std::vector<u64> sizes = counts.to_host();
  u64 at = 0;
  for (u32 p = 0; p < parts; ++p) {
    if (n > 10000) EXPECT_NEAR(double(sizes[p]), double(n) / parts, 0.1 * double(n) / parts);
    for (u64 end = at + sizes[p]; at < end; ++at) {
      ASSERT_EQ(parts_of[at], p) << at;
      for (u32 w = 0; w < Words; ++w) ASSERT_EQ(apart[at].state.words[w], apart[at].key * (w + 2)) << at;
    }
  }
  EXPECT_EQ(at, n);
  std::sort(own.begin(), own.end());
  for (u64 i = 0; i < n; ++i) ASSERT_EQ(own[i], i * 977 + 5);
}

TEST_F(group_exchange_test, puts_every_pair_into_its_part) {
  for (const u64 n : {u64(1), u64(31), u64(2048), u64(2049), u64(300'000), u64(6'000'000)})
    for (const u32 parts : {1u, 2u, 3u, 8u, most_exchange_parts}) check<2>(n, parts);
  check<1>(5000, 4);
  check<40>(100'000, 4);
}

}  // namespace
}  // namespace query::gpu::test
