// Passes that filter, compute and fold at once: a sum of f64, and option prices with accurate functions; part of primitives_bench.cu.
//
// Prices are written as the engine writes rows of `select` (src/gpu_engine/operators/collect.cpp), call and put side by side: 12 bytes
// a row are read and 8 written, as by the peers. Summed, nothing is written, so rows a second are compared.
#include <cmath>

#include "black_scholes.cuh"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/reduce.cuh"
#include "must_table.hpp"
#include "primitives_peers.hpp"
#include "primitives_timing.cuh"

namespace query::gpu::bench {

void fused(double copy_gbs);

namespace {

using policy = reduce_policy<double>;

struct add {
  __device__ double operator()(double a, double b) const { return a + b; }
};

__global__ __launch_bounds__(policy::threads) void sum_filtered(const double* x, u64 n, double limit, void* temp, double* out) {
  reduce<policy>(
      n, 0.0,
      [=](u64 i, double& into) {
        const double v = x[i];
        if (v < limit) into += 3.0 * v + 1.0;
      },
      add(), temp, [=](double s) { *out = s; });
}

// Two rows a load.
__global__ __launch_bounds__(policy::threads) void sum_filtered_by_two(const double2* x, u64 pairs, double limit, void* temp, double* out) {
  reduce<policy>(
      pairs, 0.0,
      [=](u64 i, double& into) {
        const double2 v = x[i];
        if (v.x < limit) into += 3.0 * v.x + 1.0;
        if (v.y < limit) into += 3.0 * v.y + 1.0;
      },
      add(), temp, [=](double s) { *out = s; });
}

struct option_columns {
  const float* price;
  const float* strike;
  const float* years;
  __device__ __forceinline__ option_prices operator()(u64 i) const { return price_option(price[i], strike[i], years[i]); }
};

__global__ __launch_bounds__(policy::threads) void sum_calls(option_columns in, u64 n, void* temp, double* out) {
  reduce<policy>(
      n, 0.0, [=](u64 i, double& into) { into += in(i).call; }, add(), temp, [=](double s) { *out = s; });
}

__global__ __launch_bounds__(256) void map_rows(option_columns in, u64 n, option_prices* out) {
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) out[i] = in(i);
}

// The loads of four rows are on their way together.
__global__ __launch_bounds__(256) void map_four_rows(option_columns in, u64 n, option_prices* out) {
  for (u64 first = blockIdx.x * 1024ull + threadIdx.x; first < n; first += gridDim.x * 1024ull) {
    float price[4], strike[4], years[4];
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      const u64 i = smaller(first + j * 256, n - 1);
      price[j] = in.price[i];
      strike[j] = in.strike[i];
      years[j] = in.years[i];
    }
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      if (first + j * 256 < n) out[first + j * 256] = price_option(price[j], strike[j], years[j]);
    }
  }
}

// Four neighbours a thread, by 16-byte loads and stores.
__global__ __launch_bounds__(256) void map_by_four(option_columns in, u64 fours, float4* out) {
  const auto four = [](const float* p, u64 i) { return reinterpret_cast<const float4*>(p)[i]; };
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < fours; i += gridDim.x * 256ull) {
    const float4 s = four(in.price, i), k = four(in.strike, i), t = four(in.years, i);
    const option_prices a = price_option(s.x, k.x, t.x), b = price_option(s.y, k.y, t.y), c = price_option(s.z, k.z, t.z),
                        d = price_option(s.w, k.w, t.w);
    out[2 * i] = {a.call, a.put, b.call, b.put};
    out[2 * i + 1] = {c.call, c.put, d.call, d.put};
  }
}

using keep_policy = compact_policy<option_prices>;
__global__ __launch_bounds__(keep_policy::threads, keep_policy::blocks) void keep_all(option_columns in, u64 n, void* temp, u64* count,
                                                                                  option_prices* out) {
  compact<keep_policy, option_prices>(
      n, temp, count,
      [=](u64 i, option_prices& item) {
        item = in(i);
        return item.call > -1e30f;
      },
      [=](u64 at, const option_prices& item) { out[at] = item; });
}

__global__ void spread(float* x, u64 n, float least, float most) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) x[i] = least + (most - least) * x[i];
}

__global__ void count_far(const option_prices* ours, const float* call, const float* put, u64 n, u64* wrong) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    // Written so that a NaN is far.
    if (!(fabsf(ours[i].call - call[i]) <= 1e-3f) || !(fabsf(ours[i].put - put[i]) <= 1e-3f)) atomicAdd(wrong, u64(1));
  }
}

template <class T>
T first_of(const memory<T>& m) {
  T value;
  QUERY_BENCH_CUDA(cudaMemcpy(&value, m.data(), sizeof(T), cudaMemcpyDeviceToHost));
  return value;
}

bool near(double a, double b, double part) { return std::fabs(a - b) <= part * std::fabs(b); }

void filtered_sums(u64 n, double copy_gbs) {
  const memory<double> x(n), out(1), expected(1);
  fill(x, 21);
  const double limit = 0.5;
  std::size_t bytes = 0;
  peers::reduce_filtered(nullptr, bytes, x.data(), expected.data(), n, limit);
  const memory<u8> temp(bytes);
  const double peer = median_ms([&] { peers::reduce_filtered(temp.data(), bytes, x.data(), expected.data(), n, limit); });
  const memory<u8> own_temp(reduce_temp_bytes<policy, double>(n));
  QUERY_BENCH_CUDA(cudaMemset(own_temp.data(), 0, own_temp.bytes()));
  const auto row = [&](const char* name, double ms, bool asked) {
    must_rows::add(name, ms, {double(n) * 8 / ms * 1e-6, "GB/s"}, {"CUB TransformReduce", peer},
                   asked ? must_rows::rate_of(0.9 * copy_gbs) : must_rows::demand{}, near(first_of(out), first_of(expected), 1e-12));
  };
  const double one = median_ms([&] {
    sum_filtered<<<unsigned(reduce_blocks<policy>(n)), policy::threads>>>(x.data(), n, limit, own_temp.data(), out.data());
  });
  row("filter+map+sum f64 2^28", one, true);
  QUERY_BENCH_CUDA(cudaMemset(out.data(), 0, 8));
  const double two = median_ms([&] {
    const auto pairs = reinterpret_cast<const double2*>(x.data());
    sum_filtered_by_two<<<unsigned(reduce_blocks<policy>(n / 2)), policy::threads>>>(pairs, n / 2, limit, own_temp.data(), out.data());
  });
  row("  variant: 16-byte loads", two, false);
}

void options(u64 n, double copy_gbs) {
  const memory<float> price(n), strike(n), years(n);
  fill(price, 22);
  fill(strike, 23);
  fill(years, 24);
  spread<<<2048, 256>>>(price.data(), n, 5, 30);
  spread<<<2048, 256>>>(strike.data(), n, 1, 100);
  spread<<<2048, 256>>>(years.data(), n, 0.25f, 10);
  const option_columns in{price.data(), strike.data(), years.data()};
  const double asked = must_rows::scaled(3000, copy_gbs);
  {
    const memory<option_prices> out(n);
    const memory<float> call(n), put(n);
    const double by_four =
        median_ms([&] { peers::price_options_by_four(price.data(), strike.data(), years.data(), call.data(), put.data(), n); });
    QUERY_BENCH_CUDA(cudaMemset(call.data(), 0, call.bytes()));
    const double cub = median_ms([&] { peers::price_options(price.data(), strike.data(), years.data(), call.data(), put.data(), n); });
    const auto peer = cub < by_four ? must_rows::peer_time("CUB Transform", cub) : must_rows::peer_time("float4 kernel", by_four);
    report("black_scholes", "CUB", n, 20 * n, cub);
    report("black_scholes", "float4 kernel", n, 20 * n, by_four);
    const memory<u64> wrong(1);
    const auto time = [&](const char* name, bool demanded, auto run) {
      QUERY_BENCH_CUDA(cudaMemset(out.data(), 0xff, out.bytes()));
      const double ms = median_ms(run);
      QUERY_BENCH_CUDA(cudaMemset(wrong.data(), 0, 8));
      count_far<<<2048, 256>>>(out.data(), call.data(), put.data(), n, wrong.data());
      must_rows::add(name, ms, {double(n) * 20 / ms * 1e-6, "GB/s"}, peer, demanded ? must_rows::rate_of(asked) : must_rows::demand{},
                     first_of(wrong) == 0);
    };
    const unsigned most = resident(map_rows, 256) * 16, most_fours = resident(map_four_rows, 256) * 16;
    time("Black-Scholes written 2^28", true,
         [&] { map_rows<<<unsigned(smaller<u64>(divide_up(n, 256), most)), 256>>>(in, n, out.data()); });
    time("  variant: four rows a turn", false,
         [&] { map_four_rows<<<unsigned(smaller<u64>(divide_up(n, 1024), most_fours)), 256>>>(in, n, out.data()); });
    time("  variant: a block for every 1024 rows", false, [&] { map_four_rows<<<unsigned(divide_up(n, 1024)), 256>>>(in, n, out.data()); });
    time("  variant: 16-byte loads", false,
         [&] { map_by_four<<<unsigned(divide_up(n / 4, 256)), 256>>>(in, n / 4, reinterpret_cast<float4*>(out.data())); });
    const memory<u8> temp(compact_temp_bytes<keep_policy>(n));
    const memory<u64> count(1);
    const u64 blocks = compact_blocks<keep_policy>(n, resident(keep_all, keep_policy::threads));
    time("  variant: through compact, all kept", false, [&] {
      cudaMemsetAsync(temp.data(), 0, temp.bytes());
      keep_all<<<unsigned(blocks), keep_policy::threads>>>(in, n, temp.data(), count.data(), out.data());
    });
  }
  const memory<double> out(1), expected(1);
  std::size_t bytes = 0;
  peers::reduce_calls(nullptr, bytes, price.data(), strike.data(), years.data(), expected.data(), n);
  const memory<u8> temp(bytes), own_temp(reduce_temp_bytes<policy, double>(n));
  const double peer =
      median_ms([&] { peers::reduce_calls(temp.data(), bytes, price.data(), strike.data(), years.data(), expected.data(), n); });
  QUERY_BENCH_CUDA(cudaMemset(own_temp.data(), 0, own_temp.bytes()));
  const double ms =
      median_ms([&] { sum_calls<<<unsigned(reduce_blocks<policy>(n)), policy::threads>>>(in, n, own_temp.data(), out.data()); });
  // As many rows a second as 3000 GB/s are where prices are written.
  must_rows::add("Black-Scholes calls summed 2^28", ms, {double(n) / ms * 1e-6, "Grow/s"}, {"CUB TransformReduce", peer},
                 must_rows::rate_of(asked / 20), near(first_of(out), first_of(expected), 1e-7));
}

}  // namespace

void fused(double copy_gbs) {
  filtered_sums(rows(), copy_gbs);
  options(rows(), copy_gbs);
}

}  // namespace query::gpu::bench
