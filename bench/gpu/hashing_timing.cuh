// Timing and inputs that the benchmarks of the hashed primitives share.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpu_primitives/types.cuh"

namespace hashing_bench {

using namespace query::gpu;

#define BENCH_CUDA(call)                                                                               \
  do {                                                                                                 \
    const cudaError_t status_ = (call);                                                                \
    if (status_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
      std::exit(1);                                                                                    \
    }                                                                                                  \
  } while (false)

template <class T> class array {
 public:
  explicit array(u64 size) : size_(size) { BENCH_CUDA(cudaMalloc(&data_, size * sizeof(T) + 64)); }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { cudaFree(data_); }
  T* data() const { return data_; }
  u64 size() const { return size_; }
  void set(int byte) const { BENCH_CUDA(cudaMemsetAsync(data_, byte, size_ * sizeof(T))); }
  T first() const {
    T value;
    BENCH_CUDA(cudaMemcpy(&value, data_, sizeof(T), cudaMemcpyDeviceToHost));
    return value;
  }

 private:
  T* data_ = nullptr;
  u64 size_ = 0;
};

// Median of 9 runs after 2, in ms.
template <class Run> float median_ms(const Run& run) {
  cudaEvent_t begin, end;
  BENCH_CUDA(cudaEventCreate(&begin));
  BENCH_CUDA(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 11; ++i) {
    BENCH_CUDA(cudaEventRecord(begin));
    run();
    BENCH_CUDA(cudaEventRecord(end));
    BENCH_CUDA(cudaGetLastError());
    BENCH_CUDA(cudaEventSynchronize(end));
    float ms = 0;
    BENCH_CUDA(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

inline int failures = 0;

// One line: median time, rows per second, bytes per second (each input and output byte once), check.
inline double report(const std::string& name, u64 rows, double bytes, float ms, bool right, double peer_grows = 0) {
  const double grows = static_cast<double>(rows) / (static_cast<double>(ms) * 1e6);
  std::printf("%-44s %9.3f ms %8.1f Grow/s %7.0f GB/s", name.c_str(), static_cast<double>(ms), grows,
              bytes / (static_cast<double>(ms) * 1e6));
  if (peer_grows > 0) std::printf("  %5.2fx of peer", grows / peer_grows);
  std::printf("%s\n", right ? "" : "  WRONG");
  std::fflush(stdout);
  if (!right) ++failures;
  return grows;
}

// Also returns what cudaMemcpy reaches, GB/s.
inline double report_copy() {
  const u64 bytes = u64(2) << 30;
  array<char> a(bytes), b(bytes);
  a.set(1);
  const float ms = median_ms([&] { BENCH_CUDA(cudaMemcpyAsync(b.data(), a.data(), bytes, cudaMemcpyDeviceToDevice)); });
  report("copy_2GiB", bytes / 8, 2.0 * static_cast<double>(bytes), ms, true);
  return 2.0 * static_cast<double>(bytes) / (static_cast<double>(ms) * 1e6);
}

__host__ __device__ inline u64 random_at(u64 i, u64 seed) {
  u64 h = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1b54a32d192ed03ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

template <class Body> __global__ void each_kernel(u64 n, Body body) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) body(i);
}
template <class Body> void each(u64 n, const Body& body) {
  each_kernel<<<132 * 8, 256>>>(n, body);
  BENCH_CUDA(cudaGetLastError());
}

}  // namespace hashing_bench
