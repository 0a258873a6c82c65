// What the tests of the hashed primitives share: device arrays, checked calls, keys of every distribution, a test class that skips
// loudly where there is no GPU.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu_primitives/types.cuh"

namespace hashing_test {

using query::gpu::u32;
using query::gpu::u64;
using query::gpu::u8;

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}
#define HASHING_CUDA(call) ::hashing_test::check((call), #call)

// Device array, filled with 0xa5 so that what a kernel leaves unwritten shows.
template <class T> class device_array {
 public:
  explicit device_array(u64 size) : size_(size) {
    HASHING_CUDA(cudaMalloc(&data_, size * sizeof(T) + 16));
    fill(0xa5);
  }
  explicit device_array(const std::vector<T>& values) : device_array(values.size()) {
    if (!values.empty()) HASHING_CUDA(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  device_array(device_array&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  device_array& operator=(device_array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~device_array() { cudaFree(data_); }

  device_array& fill(int byte) {
    HASHING_CUDA(cudaMemset(data_, byte, size_ * sizeof(T)));
    return *this;
  }
  T* data() const { return data_; }
  u64 size() const { return size_; }
  std::vector<T> host(u64 count = ~0ull) const {
    std::vector<T> values(count < size_ ? count : size_);
    if (!values.empty()) HASHING_CUDA(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  T first() const { return host(1)[0]; }

 private:
  T* data_ = nullptr;
  u64 size_ = 0;
};

inline void finish() {
  HASHING_CUDA(cudaGetLastError());
  HASHING_CUDA(cudaDeviceSynchronize());
}

// Lets a kernel use `bytes` of dynamic shared memory.
template <class Kernel> void allow_shared(Kernel kernel, u32 bytes) {
  HASHING_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      std::fprintf(stderr, "*** SKIPPED: no GPU on this machine ***\n");
      GTEST_SKIP() << "no GPU on this machine";
    }
  }
};

// Whether the card has that much memory free; says so where it has not.
inline bool room_for(u64 gigabytes) {
  std::size_t free = 0, total = 0;
  HASHING_CUDA(cudaMemGetInfo(&free, &total));
  if (free >= gigabytes << 30) return true;
  std::fprintf(stderr, "*** SKIPPED: %llu GiB of GPU memory are needed, %llu are free ***\n", gigabytes,
               static_cast<unsigned long long>(free >> 30));
  return false;
}
#define NEEDS_GIGABYTES(n) \
  if (!::hashing_test::room_for(n)) GTEST_SKIP() << "not enough GPU memory: this test did not run"

enum class spread { all_equal, all_distinct, few, uniform, zipf, heavy, extremes };

inline const char* name_of(spread s) {
  switch (s) {
    case spread::all_equal:
      return "all_equal";
    case spread::all_distinct:
      return "all_distinct";
    case spread::few:
      return "few";
    case spread::uniform:
      return "uniform";
    case spread::zipf:
      return "zipf";
    case spread::heavy:
      return "heavy";
    default:
      return "extremes";
  }
}

// Keys of 32 bits of which `distinct` at most differ; `extremes` puts 0, all ones and their neighbours among them.
inline std::vector<u32> make_keys(u64 n, u64 distinct, spread s, u32 seed = 7) {
  std::mt19937_64 random(seed);
  std::vector<u32> keys(n);
  for (u64 i = 0; i < n; ++i) {
    const u64 r = random();
    const double unit = static_cast<double>(r >> 11) * 0x1p-53;
    u64 k = 0;
    switch (s) {
      case spread::all_equal:
        k = 42;
        break;
      case spread::all_distinct:
        k = i * 2654435761u;
        break;
      case spread::few:
        k = r % 5;
        break;
      case spread::uniform:
        k = r % distinct;
        break;
      case spread::zipf:
        k = static_cast<u64>(std::pow(static_cast<double>(distinct), unit)) - 1;
        break;
      case spread::heavy:
        k = r % 10 < 6 ? 3 : (r >> 8) % distinct;
        break;
      case spread::extremes:
        k = (r & 7) < 4 ? 0ull - (r & 3) : (r & 7) < 6 ? (r & 1) : (r >> 8) % distinct;
        break;
    }
    keys[i] = static_cast<u32>(k);
  }
  return keys;
}

// Around warps, blocks and tiles, and one large. QUERY_GPU_TEST_MOST_ROWS leaves larger ones out, for runs under a checker.
inline std::vector<u64> edge_sizes() {
  const char* most = std::getenv("QUERY_GPU_TEST_MOST_ROWS");
  std::vector<u64> sizes;
  for (const u64 n : {0ull, 1ull, 31ull, 32ull, 33ull, 127ull, 129ull, 257ull, 1023ull, 1025ull, 4097ull, 8193ull, (1ull << 20) + 1}) {
    if (!most || n <= std::strtoull(most, nullptr, 10)) sizes.push_back(n);
  }
  return sizes;
}

}  // namespace hashing_test
