#include "gpu_loops/nearest_two.hpp"

#include <algorithm>
#include <string>

#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/kernel_cache.hpp"
#include "gpu_engine/launch.hpp"

namespace bench {

using namespace query::gpu_engine;

namespace {

// A thread a row, whose numbers stay in registers; centres come through shared memory, some at a time. In the lanes and the order of
// query::squared_distance, each operation rounded by itself.
constexpr const char* text = R"(
struct two { unsigned which; float best, second; };
constexpr unsigned threads = 128, tile = D <= 40 ? 128 : 64;
extern "C" __global__ void __launch_bounds__(threads) nearest_two(const float* points, const float* centres, unsigned long long n,
                                                                  unsigned k, two* out) {
  constexpr unsigned lanes = D % 8 == 0 ? 8 : D % 4 == 0 ? 4 : 1;
  __shared__ float shared[tile * D];
  const unsigned long long i = (unsigned long long)blockIdx.x * threads + threadIdx.x;
  float p[D];
#pragma unroll
  for (unsigned d = 0; d < D; ++d) p[d] = i < n ? points[i * D + d] : 0.0f;
  const float infinite = __int_as_float(0x7f800000);
  two found{0, infinite, infinite};
  for (unsigned from = 0; from < k; from += tile) {
    const unsigned here = k - from < tile ? k - from : tile;
    __syncthreads();
    for (unsigned j = threadIdx.x; j < here * D; j += threads) shared[j] = centres[(unsigned long long)from * D + j];
    __syncthreads();
    for (unsigned c = 0; c < here; ++c) {
      float s[lanes] = {};
#pragma unroll
      for (unsigned d = 0; d < D; d += lanes)
#pragma unroll
        for (unsigned l = 0; l < lanes; ++l) {
          const float x = __fsub_rn(p[d + l], shared[c * D + d + l]);
          s[l] = __fadd_rn(s[l], __fmul_rn(x, x));
        }
      float total = s[0];
#pragma unroll
      for (unsigned l = 1; l < lanes; ++l) total = __fadd_rn(total, s[l]);
      if (total < found.best) found = {from + c, total, found.best};
      else if (total < found.second) found.second = total;
    }
  }
  if (i < n) out[i] = found;
}
)";
constexpr unsigned threads = 128;  // as above

}  // namespace

std::vector<nearest_two> nearest_two_there(const float* points, std::size_t n, const float* centres, std::size_t k,
                                           std::size_t dimensions) {
  static_assert(sizeof(nearest_two) == 12);
  const device* const d = device::first();
  if (!d || !compiler::find()) return {};
  kernel_cache kernels({.headers = {}, .options = {separate_products}, .folder = "", .compile = {}});
  const auto kernel = kernels.get("constexpr unsigned D = " + std::to_string(dimensions) + ";\n" + text, "nearest_two", *d);
  // So many rows at a time that they take little beside what the query holds.
  const std::size_t row_bytes = dimensions * sizeof(float), most = std::min(n, (std::size_t{256} << 20) / row_bytes),
                    centre_bytes = k * row_bytes;
  device_memory memory(*d, 2 * (most * (row_bytes + sizeof(nearest_two)) + centre_bytes) + (std::size_t{64} << 20));
  const stream s(*d);
  const scoped_context here(*d);
  const query::runtime::cancel_flag never;
  const device_buffer rows = memory.allocate(most * row_bytes, s), of_centres = memory.allocate(centre_bytes, s),
                      found = memory.allocate(most * sizeof(nearest_two), s);
  QUERY_CUDA(d->calls(), cuMemcpyHtoDAsync, of_centres.address(), centres, centre_bytes, s.handle());
  std::vector<nearest_two> all(n);
  for (std::size_t from = 0; from < n; from += most) {
    const std::size_t some = std::min(most, n - from);
    QUERY_CUDA(d->calls(), cuMemcpyHtoDAsync, rows.address(), points + from * dimensions, some * row_bytes, s.handle());
    launch(*kernel, {.grid = blocks_for(some, threads), .block = threads}, s, rows.address(), of_centres.address(),
           static_cast<unsigned long long>(some), static_cast<unsigned>(k), found.address());
    QUERY_CUDA(d->calls(), cuMemcpyDtoHAsync, all.data() + from, found.address(), some * sizeof(nearest_two), s.handle());
    s.synchronize(never);
  }
  return all;
}

}  // namespace bench
