// What the tests of GPU primitives need of a device: memory, checked calls, a grid that fills the card, and a loud skip without a card.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "gpu_primitives/types.cuh"

#define QUERY_TEST_CUDA(call)                                                                                             \
  do {                                                                                                                    \
    const cudaError_t result = (call);                                                                                    \
    if (result != cudaSuccess) {                                                                                          \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(result));                     \
      std::abort();                                                                                                       \
    }                                                                                                                     \
  } while (false)

namespace query::gpu::test {

// Base of all fixtures: without a card every test says that it did not run.
class on_device : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "NO GPU: this test did not run";
  }
};

template <class T>
class device_array {
 public:
  explicit device_array(std::size_t n) : size_(n) { QUERY_TEST_CUDA(cudaMalloc(&data_, n * sizeof(T) + 16)); }
  explicit device_array(const std::vector<T>& from) : device_array(from.size()) {
    QUERY_TEST_CUDA(cudaMemcpy(data_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  // Every byte of the elements is `byte`.
  device_array(std::size_t n, int byte) : device_array(n) { QUERY_TEST_CUDA(cudaMemset(data_, byte, n * sizeof(T))); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::vector<T> to_host(std::size_t n) const {
    std::vector<T> out(n);
    QUERY_TEST_CUDA(cudaMemcpy(out.data(), data_, n * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }
  std::vector<T> to_host() const { return to_host(size_); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Zeroed temporary storage.
inline device_array<u8> zeroed(u64 bytes) {
  return device_array<u8>(bytes, 0);
}

inline void finish() {
  QUERY_TEST_CUDA(cudaGetLastError());
  QUERY_TEST_CUDA(cudaDeviceSynchronize());
}

// Blocks of `kernel` that the card holds at once; raises the kernel's limit of dynamic shared memory where needed.
template <class Kernel>
u64 resident_blocks(Kernel kernel, u32 threads, u32 shared = 0) {
  if (shared > 48 * 1024) QUERY_TEST_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
  int per_multiprocessor = 0, multiprocessors = 0, device = 0;
  QUERY_TEST_CUDA(cudaGetDevice(&device));
  QUERY_TEST_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, int(threads), shared));
  QUERY_TEST_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return u64(per_multiprocessor) * u64(multiprocessors);
}

// Sizes where warps, blocks and tiles end, and one of many tiles.
inline std::vector<u64> interesting_sizes(u64 tile) {
  return {0, 1, 2, 31, 32, 33, 255, 256, 257, tile - 1, tile, tile + 1, 3 * tile + 7, (u64(1) << 20) + 1};
}

inline std::vector<u64> random_words(u64 n, u64 seed) {
  std::mt19937_64 random(seed);
  std::vector<u64> out(n);
  for (u64& x : out) x = random();
  return out;
}

}  // namespace query::gpu::test
