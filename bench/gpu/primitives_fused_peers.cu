// Fused passes as a user of CUB writes them, and one by hand; as in primitives_peers.hpp.
#include "primitives_peers.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_transform.cuh>
#include <cuda/std/functional>
#include <cuda/std/tuple>

#include "black_scholes.cuh"

namespace query::gpu::peers {

namespace {

struct filtered {
  double limit;
  __device__ double operator()(double v) const { return v < limit ? 3.0 * v + 1.0 : 0.0; }
};

struct call_of_row {
  const float* price;
  const float* strike;
  const float* years;
  __device__ double operator()(std::size_t i) const { return bench::price_option(price[i], strike[i], years[i]).call; }
};

struct both_prices {
  __device__ cuda::std::tuple<float, float> operator()(float price, float strike, float years) const {
    const auto prices = bench::price_option(price, strike, years);
    return {prices.call, prices.put};
  }
};

__global__ void by_four(const float4* price, const float4* strike, const float4* years, float4* call, float4* put, std::size_t fours) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i >= fours) return;
  const float4 s = price[i], k = strike[i], t = years[i];
  const auto a = bench::price_option(s.x, k.x, t.x), b = bench::price_option(s.y, k.y, t.y), c = bench::price_option(s.z, k.z, t.z),
             d = bench::price_option(s.w, k.w, t.w);
  call[i] = {a.call, b.call, c.call, d.call};
  put[i] = {a.put, b.put, c.put, d.put};
}

}  // namespace

void reduce_filtered(void* temp, std::size_t& bytes, const double* x, double* out, std::size_t n, double limit) {
  cub::DeviceReduce::TransformReduce(temp, bytes, x, out, n, cuda::std::plus<>{}, filtered{limit}, 0.0);
}
void reduce_calls(void* temp, std::size_t& bytes, const float* price, const float* strike, const float* years, double* out, std::size_t n) {
  cub::DeviceReduce::TransformReduce(temp, bytes, thrust::counting_iterator<std::size_t>(0), out, n, cuda::std::plus<>{},
                                     call_of_row{price, strike, years}, 0.0);
}
void price_options(const float* price, const float* strike, const float* years, float* call, float* put, std::size_t n) {
  cub::DeviceTransform::Transform(cuda::std::make_tuple(price, strike, years), thrust::make_zip_iterator(call, put), n, both_prices{});
}
void price_options_by_four(const float* price, const float* strike, const float* years, float* call, float* put, std::size_t n) {
  const auto four = [](const float* p) { return reinterpret_cast<const float4*>(p); };
  by_four<<<unsigned((n / 4 + 255) / 256), 256>>>(four(price), four(strike), four(years), reinterpret_cast<float4*>(call),
                                                   reinterpret_cast<float4*>(put), n / 4);
}

}  // namespace query::gpu::peers
