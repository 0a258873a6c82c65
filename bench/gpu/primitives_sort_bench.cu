// Radix sort beside CUB's; part of primitives_bench.cu.
#include <type_traits>

#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/sort_keys.cuh"

#include "must_table.hpp"
#include "primitives_peers.hpp"
#include "primitives_timing.cuh"

namespace query::gpu::bench {

void sorts();

namespace {

template <class Policy, class Key>
__global__ __launch_bounds__(Policy::histogram_threads) void count(const Key* x, u64 n, void* temp) {
  radix_histogram<Policy, 8 * sizeof(Key)>(n, temp, [=](u64 i) { return sort_key(x[i]); });
}

template <class Policy, class Key, class Value>
__global__ __launch_bounds__(Policy::threads, Policy::blocks) void sweep(u32 pass, const Key* x, const Value* values, u64 n, void* temp,
                                                                 radix_buffers<sort_key_of<Key>, Value> between, Key* out,
                                                                 Value* out_values) {
  extern __shared__ __align__(16) u8 shared[];
  using word = sort_key_of<Key>;
  radix_sweep<Policy, 8 * sizeof(Key), word, Value, u32>(
      pass, n, temp, between, shared, [=](u64 i) { return sort_key(x[i]); }, [=](u64 i) { return values[i]; },
      [=](u64 at, word key) { out[at] = from_sort_key<Key>(key); }, [=](u64 at, const Value& v) { out_values[at] = v; });
}

// Both signs.
__global__ void centre(double* x, u64 n) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) x[i] = 2 * x[i] - 1;
}

template <class Key, class Value>
struct sort_data {
  static constexpr bool has_values = sizeof(Value) > 1;
  memory<Key> x, out, expected;
  memory<sort_key_of<Key>> between;
  memory<Value> values, out_values, expected_values, values_between;
  u64 n, bytes;
  double peer_ms;
  const char* name;

  sort_data(const char* name, u64 n)
      : x(n), out(n), expected(n), between(n), values(n), out_values(n), expected_values(n), values_between(n), n(n), name(name) {
    constexpr bool floating = std::is_floating_point_v<Key>;
    using peer_key = std::conditional_t<floating, double, std::conditional_t<sizeof(Key) == 8, std::uint64_t, std::uint32_t>>;
    fill(x, 5);
    if constexpr (floating) centre<<<2048, 256>>>(x.data(), n);
    bytes = 2 * n * sizeof(Key);
    const auto in = reinterpret_cast<const peer_key*>(x.data());
    const auto result = reinterpret_cast<peer_key*>(expected.data());
    if constexpr (has_values) {
      bytes += 2 * n * sizeof(Value);
      fill(values, 6);
    }
    // CUB has other tiles where rows are counted in 32 bits; ours is compared with the faster.
    const auto time_peer = [&](const char* variant, bool narrow) {
      const auto run = [&](void* temp, std::size_t& temp_bytes) {
        if constexpr (has_values) {
          peers::sort_pairs(temp, temp_bytes, in, result, values.data(), expected_values.data(), n, narrow);
        } else {
          peers::sort_keys(temp, temp_bytes, in, result, n, narrow);
        }
      };
      std::size_t temp_bytes = 0;
      run(nullptr, temp_bytes);
      const memory<u8> temp(temp_bytes);
      const double ms = median_ms([&] { run(temp.data(), temp_bytes); });
      report(name, variant, n, bytes, ms);
      return ms;
    };
    const double wide_ms = time_peer("CUB, 64-bit counts", false);
    peer_ms = std::min(wide_ms, time_peer("CUB, 32-bit counts", true));
  }
};

template <class Key, class Value>
void sort_ours(const sort_data<Key, Value>& d, must_rows::demand must = {}) {
  using word = sort_key_of<Key>;
  using policy = radix_policy<word, Value>;
  QUERY_BENCH_CUDA(cudaMemset(d.out.data(), 0xff, d.out.bytes()));
  const memory<u8> temp(radix_temp_bytes<policy, u32>(d.n));
  const auto histogram = count<policy, Key>;
  const auto move = sweep<policy, Key, Value>;
  const u32 shared = radix_shared_bytes<policy, word, Value>();
  const u64 histogram_blocks = radix_histogram_blocks<policy>(d.n, resident(histogram, policy::histogram_threads));
  const u64 move_blocks = radix_sweep_blocks<policy>(d.n);
  resident(move, policy::threads, shared);  // raises the limit of shared memory
  const radix_buffers<word, Value> between{{d.between.data(), reinterpret_cast<word*>(d.out.data())},
                                           {d.values_between.data(), d.out_values.data()}};
  const double ms = median_ms([&] {
    cudaMemsetAsync(temp.data(), 0, temp.bytes());
    histogram<<<unsigned(histogram_blocks), policy::histogram_threads>>>(d.x.data(), d.n, temp.data());
    for (u32 pass = 0; pass < sizeof(Key); ++pass) {
      move<<<unsigned(move_blocks), policy::threads, shared>>>(pass, d.x.data(), d.values.data(), d.n, temp.data(), between, d.out.data(),
                                                       d.out_values.data());
    }
  });
  report(d.name, "ours", d.n, d.bytes, ms, d.peer_ms);
  bool right = expect_same(d.name, "ours", d.out, d.expected, d.n);
  if constexpr (sort_data<Key, Value>::has_values) right = expect_same(d.name, "ours", d.out_values, d.expected_values, d.n) && right;
  must_rows::add(d.name, ms, must_rows::measured_rate(double(d.n) / ms * 1e-6, "Grow/s"), must_rows::peer_time("CUB", d.peer_ms), must,
                 right);
}

}  // namespace

void sorts() {
  sort_ours(sort_data<double, no_value>("sort_keys_f64", rows()), must_rows::times_of_peer(1));
  sort_ours(sort_data<u64, no_value>("sort_keys_u64", rows()));
  sort_ours(sort_data<u32, no_value>("sort_keys_u32", rows()));
  sort_ours(sort_data<u64, u32>("sort_pairs_u64_u32", rows() / 2), must_rows::times_of_peer(1));
  sort_ours(sort_data<u32, u32>("sort_pairs_u32_u32", rows()));
}

}  // namespace query::gpu::bench
