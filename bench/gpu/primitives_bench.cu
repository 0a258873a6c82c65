// Our GPU primitives beside CUB's on the same data in the same run: medians, and how many times faster ours is.
//
//   primitives_bench [reduce] [select] [fused] [scan] [sort] [records] [merge] [rows]    all of them by default
// QUERY_BENCH_SHRINK=k divides the sizes by 2^k.
// Lines that begin with "MUST |" are the rows of the table of required speeds (must_table.hpp). GB/s counts each input byte read once and
// each output byte written once. Clearing temporary storage is part of the time.
#include <cstring>
#include <string>

#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/reduce.cuh"
#include "gpu_primitives/scan.cuh"
#include "must_table.hpp"
#include "primitives_peers.hpp"
#include "primitives_timing.cuh"

namespace query::gpu::bench {

void fused(double copy_gbs);  // primitives_fused_bench.cu
void sorts();         // primitives_sort_bench.cu
void record_sorts();  // primitives_records_bench.cu
void merges();        // primitives_merge_bench.cu
void wide_rows();     // primitives_rows_bench.cu

namespace {

template <class Policy>
__global__ __launch_bounds__(Policy::threads) void sum(const double* x, u64 n, void* temp, double* out) {
  reduce<Policy>(
      n, 0.0, [=](u64 i, double& into) { into += x[i]; }, [](double a, double b) { return a + b; }, temp, [=](double s) { *out = s; });
}

template <class Policy, class T>
__global__ __launch_bounds__(Policy::threads, Policy::blocks) void select(const T* x, u64 n, T limit, void* temp, u64* count, T* out) {
  compact<Policy, T>(
      n, temp, count,
      [=](u64 i, T& item) {
        item = x[i];
        return item < limit;
      },
      [=](u64 at, const T& item) { out[at] = item; });
}

// Streaming: loads and stores that say that nobody comes back for the line.
template <class Policy, bool Streaming, class T>
__global__ __launch_bounds__(Policy::threads, Policy::blocks) void prefix(const T* x, u64 n, void* temp, T* out) {
  exclusive_scan<Policy, T>(
      n, temp, T(0), [=](u64 i) { return Streaming ? __ldcs(x + i) : x[i]; }, [](T a, T b) { return T(a + b); },
      [=](u64 i, T v) {
        if (Streaming) {
          __stcs(out + i, v);
        } else {
          out[i] = v;
        }
      },
      [](T) {});
}

__global__ void copy(const uint4* from, uint4* to, u64 n) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) to[i] = from[i];
}

// What cudaMemcpy reaches, GB/s.
double copies(u64 bytes) {
  const memory<u8> from(bytes), to(bytes);
  fill(from, 1);
  const double ms = median_ms([&] { cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice); });
  report("copy", "memcpy", bytes / 8, 2 * bytes, ms);
  report("copy", "kernel 16 B", bytes / 8, 2 * bytes, median_ms([&] {
           copy<<<132 * 16, 512>>>(reinterpret_cast<const uint4*>(from.data()), reinterpret_cast<uint4*>(to.data()), bytes / 16);
         }));
  return double(2 * bytes) / ms * 1e-6;
}

void reductions(u64 n) {
  const memory<double> x(n), out(1);
  fill(x, 2);
  std::size_t bytes = 0;
  peers::reduce_sum(nullptr, bytes, x.data(), out.data(), n);
  const memory<u8> temp(bytes);
  const double peer = median_ms([&] { peers::reduce_sum(temp.data(), bytes, x.data(), out.data(), n); });
  report("reduce_sum_f64", "CUB", n, n * 8, peer);

  using policy = reduce_policy<double>;
  const memory<u8> own_temp(reduce_temp_bytes<policy, double>(n));
  QUERY_BENCH_CUDA(cudaMemset(own_temp.data(), 0, own_temp.bytes()));
  const auto run = [&] { sum<policy><<<unsigned(reduce_blocks<policy>(n)), policy::threads>>>(x.data(), n, own_temp.data(), out.data()); };
  report("reduce_sum_f64", "ours", n, n * 8, median_ms(run), peer);
}

template <class T>
struct select_data {
  memory<T> x, out, expected;
  memory<u64> count;
  u64 n, kept, bytes;
  T limit;
  double peer_ms;
  const char* name;

  select_data(const char* name, u64 n, T limit) : x(n), out(n), expected(n), count(2), n(n), limit(limit), name(name) {
    fill(x, 3);
    std::size_t temp_bytes = 0;
    const auto expected_count = reinterpret_cast<std::uint64_t*>(count.data() + 1);
    peers::select_below(nullptr, temp_bytes, data(x), data(expected), expected_count, n, limit);
    const memory<u8> temp(temp_bytes);
    peer_ms = median_ms([&] { peers::select_below(temp.data(), temp_bytes, data(x), data(expected), expected_count, n, limit); });
    QUERY_BENCH_CUDA(cudaMemcpy(&kept, expected_count, 8, cudaMemcpyDeviceToHost));
    bytes = (n + kept) * sizeof(T);
    report(name, "CUB", n, bytes, peer_ms);
  }
  static T* data(const memory<T>& m) { return m.data(); }
};

template <class T>
void select_ours(const select_data<T>& d, must_rows::demand must) {
  using policy = compact_policy<T>;
  const memory<u8> temp(compact_temp_bytes<policy>(d.n));
  const auto kernel = select<policy, T>;
  const u64 blocks = compact_blocks<policy>(d.n, resident(kernel, policy::threads));
  QUERY_BENCH_CUDA(cudaMemset(d.out.data(), 0, d.out.bytes()));
  const double ms = median_ms([&] {
    cudaMemsetAsync(temp.data(), 0, temp.bytes());
    kernel<<<unsigned(blocks), policy::threads>>>(d.x.data(), d.n, d.limit, temp.data(), d.count.data(), d.out.data());
  });
  report(d.name, "ours", d.n, d.bytes, ms, d.peer_ms);
  u64 kept;
  QUERY_BENCH_CUDA(cudaMemcpy(&kept, d.count.data(), 8, cudaMemcpyDeviceToHost));
  const bool right = expect_same(d.name, "ours", d.out, d.expected, d.kept) && kept == d.kept;
  must_rows::add(d.name, ms, must_rows::measured_rate(double(d.bytes) / ms * 1e-6, "GB/s"), must_rows::peer_time("CUB", d.peer_ms), must,
                 right);
}

void selections(u64 n) {
  for (const double limit : {0.1, 0.5}) {
    const select_data<double> d(limit == 0.1 ? "select_f64_10pct" : "select_f64_50pct", n, limit);
    select_ours(d, must_rows::times_of_peer(1));
  }
  for (const double limit : {0.1, 0.5}) {
    const select_data<u32> d(limit == 0.1 ? "select_u32_10pct" : "select_u32_50pct", n, u32(limit * 4294967295.0));
    select_ours(d, {});
  }
}

// Another shape: does it do better on this card?
template <class T, u32 Workers, u32 Items, u32 Blocks>
struct scan_shape {
  static constexpr u32 threads = Workers + warp_size, items = Items, blocks = Blocks;
};

template <class policy, bool Streaming, class T>
void scan_ours(const char* name, const char* variant, const memory<T>& x, const memory<T>& expected, u64 n, double peer_ms) {
  const memory<T> out(n);
  QUERY_BENCH_CUDA(cudaMemset(out.data(), 0xff, out.bytes()));
  const memory<u8> temp(scan_temp_bytes<policy, T>(n));
  const auto kernel = prefix<policy, Streaming, T>;
  const u64 blocks = scan_blocks<policy>(n, resident(kernel, policy::threads));
  const double ms = median_ms([&] {
    cudaMemsetAsync(temp.data(), 0, temp.bytes());
    kernel<<<unsigned(blocks), policy::threads>>>(x.data(), n, temp.data(), out.data());
  });
  report(name, variant == nullptr ? "ours" : variant, n, 2 * n * sizeof(T), ms, peer_ms);
  const bool right = expect_same(name, "ours", out, expected, n);
  must_rows::add(variant == nullptr ? name : std::string("  variant: ") + variant, ms,
                 must_rows::measured_rate(double(2 * n * sizeof(T)) / ms * 1e-6, "GB/s"), must_rows::peer_time("CUB", peer_ms),
                 variant == nullptr ? must_rows::times_of_peer(1) : must_rows::demand{}, right);
}

template <class T, class Peer>
void scans(const char* name, u64 n) {
  const memory<T> x(n), expected(n);
  fill(x, 4);
  std::size_t bytes = 0;
  const auto in = reinterpret_cast<const Peer*>(x.data());
  const auto out = reinterpret_cast<Peer*>(expected.data());
  peers::scan(nullptr, bytes, in, out, n);
  const memory<u8> temp(bytes);
  const double peer = median_ms([&] { peers::scan(temp.data(), bytes, in, out, n); });
  report(name, "CUB", n, 2 * n * sizeof(T), peer);
  constexpr bool streams = sizeof(T) == 4;  // as scan.cuh advises
  scan_ours<scan_policy<T>, streams>(name, nullptr, x, expected, n, peer);
  scan_ours<scan_policy<T>, !streams>(name, streams ? "not streaming" : "streaming", x, expected, n, peer);
  if constexpr (sizeof(T) == 8) {
    scan_ours<scan_shape<T, 64, 31, 6>, false>(name, "64x31x6", x, expected, n, peer);
    scan_ours<scan_shape<T, 128, 21, 4>, false>(name, "128x21x4", x, expected, n, peer);
    scan_ours<scan_shape<T, 128, 17, 5>, true>(name, "128x17x5 streaming", x, expected, n, peer);
  }
}

}  // namespace
}  // namespace query::gpu::bench

int main(int argc, char** argv) {
  using namespace query::gpu;
  using namespace query::gpu::bench;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("NO GPU: nothing was measured");
    return 77;
  }
  const u64 n = rows();
  const auto wanted = [&](const char* section) {
    bool named = argc == 1;
    for (int a = 1; a < argc; ++a) named = named || std::strcmp(argv[a], section) == 0;
    return named;
  };
  const double copy_gbs = copies(8 * n);
  if (wanted("reduce")) reductions(n);
  if (wanted("select")) selections(n);
  if (wanted("fused")) fused(copy_gbs);
  if (wanted("sort")) sorts();
  if (wanted("records")) record_sorts();
  if (wanted("merge")) merges();
  if (wanted("rows")) wide_rows();
  if (!wanted("scan")) return 0;
  scans<u32, std::uint32_t>("scan_u32", n);
  scans<u64, std::uint64_t>("scan_u64", n);
}
