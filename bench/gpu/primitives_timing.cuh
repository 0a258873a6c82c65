// How the GPU benchmarks measure: CUDA events, warm-ups of 20 ms, the median of nine runs, results compared on the device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gpu_primitives/types.cuh"

#define QUERY_BENCH_CUDA(call)                                                                                            \
  do {                                                                                                                    \
    const cudaError_t result = (call);                                                                                    \
    if (result != cudaSuccess) {                                                                                          \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(result));                     \
      std::exit(1);                                                                                                       \
    }                                                                                                                     \
  } while (false)

namespace query::gpu::bench {

template <class T>
class memory {
 public:
  explicit memory(u64 n) : n_(n) { QUERY_BENCH_CUDA(cudaMalloc(&data_, n * sizeof(T) + 256)); }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  ~memory() { cudaFree(data_); }
  T* data() const { return data_; }
  u64 bytes() const { return n_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  u64 n_;
};

template <class Run>
double median_ms(Run run) {
  cudaEvent_t begin, end;
  QUERY_BENCH_CUDA(cudaEventCreate(&begin));
  QUERY_BENCH_CUDA(cudaEventCreate(&end));
  std::vector<double> times;
  // Two runs are not enough: what follows a pause is up to 8 % slower, whoever it is.
  constexpr double warm_up_ms = 20;
  double warmed_up = 0;
  for (int r = 0; times.size() < 9; ++r) {
    QUERY_BENCH_CUDA(cudaEventRecord(begin));
    run();
    QUERY_BENCH_CUDA(cudaEventRecord(end));
    QUERY_BENCH_CUDA(cudaEventSynchronize(end));
    float ms = 0;
    QUERY_BENCH_CUDA(cudaEventElapsedTime(&ms, begin, end));
    if (r >= 2 && warmed_up >= warm_up_ms) times.push_back(ms);
    else warmed_up += ms;
  }
  QUERY_BENCH_CUDA(cudaGetLastError());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// One line; `peer_ms` = 0 when there is nothing to compare with.
inline void report(const char* name, const char* variant, u64 rows, u64 bytes, double ms, double peer_ms = 0) {
  std::printf("%-22s %-18s %8.3f ms %7.2f Grow/s %6.0f GB/s", name, variant, ms, double(rows) / ms * 1e-6, double(bytes) / ms * 1e-6);
  if (peer_ms > 0) std::printf("  %.2fx", peer_ms / ms);
  std::printf("\n");
  std::fflush(stdout);
}

template <class Kernel>
unsigned resident(Kernel kernel, u32 threads, u32 shared = 0) {
  int blocks = 0, multiprocessors = 0;
  if (shared > 48 * 1024) QUERY_BENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
  QUERY_BENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, int(threads), shared));
  QUERY_BENCH_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  return unsigned(blocks * multiprocessors);
}

template <class T>
static __global__ void fill_random(T* x, u64 n, u64 seed) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    u64 z = (i + seed) * 0x9e3779b97f4a7c15ull;  // splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    if constexpr (T(0.5) != T(0)) {
      x[i] = T(z >> 11) * T(1.0 / 9007199254740992.0);
    } else {
      x[i] = T(z >> (64 - 8 * sizeof(T)));
    }
  }
}

template <class T>
void fill(const memory<T>& m, u64 seed) {
  fill_random<<<2048, 256>>>(m.data(), m.bytes() / sizeof(T), seed);
}

template <class T>
static __global__ void count_differences(const T* a, const T* b, u64 n, u64* wrong) {
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    if (!(a[i] == b[i])) atomicAdd(wrong, u64(1));
  }
}

template <class T>
bool expect_same(const char* name, const char* variant, const memory<T>& a, const memory<T>& b, u64 n) {
  const memory<u64> wrong(1);
  QUERY_BENCH_CUDA(cudaMemset(wrong.data(), 0, 8));
  count_differences<<<2048, 256>>>(a.data(), b.data(), n, wrong.data());
  u64 count = 0;
  QUERY_BENCH_CUDA(cudaMemcpy(&count, wrong.data(), 8, cudaMemcpyDeviceToHost));
  if (count != 0) std::printf("WRONG %s %s: %llu of %llu rows differ from the peer's\n", name, variant, count, n);
  return count == 0;
}

// Rows of a run: 2^28, divided by 2^QUERY_BENCH_SHRINK.
inline u64 rows(u64 full = u64(1) << 28) {
  const char* shrink = std::getenv("QUERY_BENCH_SHRINK");
  return full >> (shrink == nullptr ? 0 : std::atoi(shrink));
}

}  // namespace query::gpu::bench
