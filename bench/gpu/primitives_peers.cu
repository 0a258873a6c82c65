// CUB's algorithms, as in primitives_peers.hpp.
#include "primitives_peers.hpp"

#include <cub/device/device_merge.cuh>
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

template <class Key>
void keys(void* temp, std::size_t& bytes, const Key* x, Key* out, std::size_t n, bool narrow) {
  if (narrow) {
    cub::DeviceRadixSort::SortKeys(temp, bytes, x, out, int(n));
  } else {
    cub::DeviceRadixSort::SortKeys(temp, bytes, x, out, n);
  }
}

template <class Key>
void pairs(void* temp, std::size_t& bytes, const Key* x, Key* out, const std::uint32_t* values, std::uint32_t* out_values, std::size_t n,
           bool narrow) {
  if (narrow) {
    cub::DeviceRadixSort::SortPairs(temp, bytes, x, out, values, out_values, int(n));
  } else {
    cub::DeviceRadixSort::SortPairs(temp, bytes, x, out, values, out_values, n);
  }
}

template <class Key>
void merge_any(void* temp, std::size_t& bytes, const Key* a, const std::uint32_t* a_values, std::size_t na, const Key* b,
               const std::uint32_t* b_values, std::size_t nb, Key* out, std::uint32_t* out_values) {
  if (a_values == nullptr) {
    cub::DeviceMerge::MergeKeys(temp, bytes, a, std::int64_t(na), b, std::int64_t(nb), out);
  } else {
    cub::DeviceMerge::MergePairs(temp, bytes, a, a_values, std::int64_t(na), b, b_values, std::int64_t(nb), out, out_values);
  }
}

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
void sort_keys(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, std::size_t n, bool narrow) {
  keys(temp, bytes, x, out, n, narrow);
}
void sort_keys(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, std::size_t n, bool narrow) {
  keys(temp, bytes, x, out, n, narrow);
}
void sort_keys(void* temp, std::size_t& bytes, const double* x, double* out, std::size_t n, bool narrow) {
  keys(temp, bytes, x, out, n, narrow);
}
void sort_pairs(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n, bool narrow) {
  pairs(temp, bytes, x, out, values, out_values, n, narrow);
}
void sort_pairs(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n, bool narrow) {
  pairs(temp, bytes, x, out, values, out_values, n, narrow);
}
void sort_pairs(void* temp, std::size_t& bytes, const std::uint16_t* x, std::uint16_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n, bool narrow) {
  pairs(temp, bytes, x, out, values, out_values, n, narrow);
}
void merge(void* temp, std::size_t& bytes, const std::uint32_t* a, const std::uint32_t* a_values, std::size_t na, const std::uint32_t* b,
           const std::uint32_t* b_values, std::size_t nb, std::uint32_t* out, std::uint32_t* out_values) {
  merge_any(temp, bytes, a, a_values, na, b, b_values, nb, out, out_values);
}
void merge(void* temp, std::size_t& bytes, const std::uint64_t* a, const std::uint32_t* a_values, std::size_t na, const std::uint64_t* b,
           const std::uint32_t* b_values, std::size_t nb, std::uint64_t* out, std::uint32_t* out_values) {
  merge_any(temp, bytes, a, a_values, na, b, b_values, nb, out, out_values);
}

}  // namespace query::gpu::peers
