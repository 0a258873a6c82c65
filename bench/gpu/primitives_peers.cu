// CUB's algorithms, as in primitives_peers.hpp.
#include "primitives_peers.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

namespace query::gpu::peers {

namespace {

template <class T>
struct below {
  T limit;
  __device__ bool operator()(T v) const { return v < limit; }
};

}  // namespace

void reduce_sum(void* temp, std::size_t& bytes, const double* x, double* out, std::size_t n) {
  cub::DeviceReduce::Sum(temp, bytes, x, out, n);
}
void scan(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, std::size_t n) {
  cub::DeviceScan::ExclusiveSum(temp, bytes, x, out, n);
}
void scan(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, std::size_t n) {
  cub::DeviceScan::ExclusiveSum(temp, bytes, x, out, n);
}
void select_below(void* temp, std::size_t& bytes, const double* x, double* out, std::uint64_t* count, std::size_t n, double limit) {
  cub::DeviceSelect::If(temp, bytes, x, out, count, n, below<double>{limit});
}
void select_below(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, std::uint64_t* count, std::size_t n,
                  std::uint32_t limit) {
  cub::DeviceSelect::If(temp, bytes, x, out, count, n, below<std::uint32_t>{limit});
}
void sort_keys(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, std::size_t n) {
  cub::DeviceRadixSort::SortKeys(temp, bytes, x, out, n);
}
void sort_keys(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, std::size_t n) {
  cub::DeviceRadixSort::SortKeys(temp, bytes, x, out, n);
}
void sort_pairs(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n) {
  cub::DeviceRadixSort::SortPairs(temp, bytes, x, out, values, out_values, n);
}
void sort_pairs(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n) {
  cub::DeviceRadixSort::SortPairs(temp, bytes, x, out, values, out_values, n);
}

}  // namespace query::gpu::peers
