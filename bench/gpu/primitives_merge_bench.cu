// Merges of sorted runs beside CUB's; part of primitives_bench.cu.
#include "gpu_primitives/merge.cuh"

#include "primitives_peers.hpp"
#include "primitives_timing.cuh"

namespace query::gpu::bench {

void merges();

namespace {

struct ascending {
  template <class Key>
  __device__ bool operator()(Key x, Key y) const {
    return x < y;
  }
};

template <class Policy, class Key>
__global__ __launch_bounds__(Policy::split_threads) void split(const Key* a, u64 na, const Key* b, u64 nb, u64* temp) {
  merge_split<Policy>(
      na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; }, ascending{});
}

template <class Policy, class Key, class Value>
__global__ __launch_bounds__(Policy::threads, Policy::blocks) void merge(const Key* a, const Value* a_values, u64 na, const Key* b,
                                                                         const Value* b_values, u64 nb, const u64* temp, Key* out,
                                                                         Value* out_values) {
  merge_runs<Policy, Key, Value>(
      na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; }, [=](u64 i) { return a_values[i]; },
      [=](u64 i) { return b_values[i]; }, ascending{}, [=](u64 at, Key key) { out[at] = key; },
      [=](u64 at, const Value& v) { out_values[at] = v; });
}

template <class Key, class Value>
struct merge_data {
  static constexpr bool has_values = sizeof(Value) > 1;
  using peer_key = std::conditional_t<sizeof(Key) == 8, std::uint64_t, std::uint32_t>;
  memory<Key> a, b, out, expected;
  memory<Value> a_values, b_values, out_values, expected_values;
  u64 na, nb, bytes;
  double peer_ms;
  const char* name;

  merge_data(const char* name, u64 na, u64 nb)
      : a(na), b(nb), out(na + nb), expected(na + nb), a_values(na), b_values(nb), out_values(na + nb), expected_values(na + nb), na(na),
        nb(nb), bytes(2 * (na + nb) * sizeof(Key)), name(name) {
    fill_sorted(a, 7);
    fill_sorted(b, 8);
    if constexpr (has_values) {
      bytes += 2 * (na + nb) * sizeof(Value);
      fill(a_values, 9);
      fill(b_values, 10);
    }
    const auto run = [&](void* temp, std::size_t& temp_bytes) {
      const std::uint32_t* first = nullptr;
      const std::uint32_t* second = nullptr;
      std::uint32_t* values = nullptr;
      if constexpr (has_values) first = a_values.data(), second = b_values.data(), values = expected_values.data();
      peers::merge(temp, temp_bytes, peer(a), first, na, peer(b), second, nb, peer(expected), values);
    };
    std::size_t temp_bytes = 0;
    run(nullptr, temp_bytes);
    const memory<u8> temp(temp_bytes);
    peer_ms = median_ms([&] { run(temp.data(), temp_bytes); });
    report(name, "CUB", na + nb, bytes, peer_ms);
  }

 private:
  static peer_key* peer(const memory<Key>& m) { return reinterpret_cast<peer_key*>(m.data()); }
  static void fill_sorted(const memory<Key>& m, u64 seed) {
    const u64 n = m.bytes() / sizeof(Key);
    const memory<Key> random(n);
    fill(random, seed);
    std::size_t temp_bytes = 0;
    peers::sort_keys(nullptr, temp_bytes, peer(random), peer(m), n, false);
    const memory<u8> temp(temp_bytes);
    peers::sort_keys(temp.data(), temp_bytes, peer(random), peer(m), n, false);
    QUERY_BENCH_CUDA(cudaDeviceSynchronize());
  }
};

template <class Key, class Value>
void merge_ours(const merge_data<Key, Value>& d) {
  using policy = merge_policy<Key, Value>;
  const u64 n = d.na + d.nb;
  const memory<u64> temp(merge_temp_bytes<policy>(n) / 8);
  const double ms = median_ms([&] {
    split<policy><<<unsigned(merge_split_blocks<policy>(n)), policy::split_threads>>>(d.a.data(), d.na, d.b.data(), d.nb, temp.data());
    merge<policy><<<unsigned(merge_blocks<policy>(n)), policy::threads>>>(d.a.data(), d.a_values.data(), d.na, d.b.data(),
                                                                          d.b_values.data(), d.nb, temp.data(), d.out.data(),
                                                                          d.out_values.data());
  });
  report(d.name, "ours", n, d.bytes, ms, d.peer_ms);
  expect_same(d.name, "ours", d.out, d.expected, n);
  if constexpr (merge_data<Key, Value>::has_values) expect_same(d.name, "ours", d.out_values, d.expected_values, n);
}

}  // namespace

void merges() {
  const u64 half = rows() / 2;
  merge_ours(merge_data<u64, no_value>("merge_keys_u64", half, half));
  merge_ours(merge_data<u32, no_value>("merge_keys_u32", half, half));
  merge_ours(merge_data<u64, u32>("merge_pairs_u64_u32", half, half));
  merge_ours(merge_data<u32, u32>("merge_pairs_u32_u32", half, half));
  merge_ours(merge_data<u64, u32>("merge_pairs_15_to_1", rows() / 16 * 15, rows() / 16));
  merge_ours(merge_data<u64, u32>("merge_pairs_small", u64(1) << 19, u64(1) << 19));
}

}  // namespace query::gpu::bench
