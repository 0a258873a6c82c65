#include <iostream>
#include <vector>

#include <query/query.hpp>

// The device library: what the host sizes buffers by. Kernels that include it need nvcc or NVRTC.
#include <gpu_primitives/compact.cuh>
#include <gpu_primitives/hash_table.cuh>
#include <gpu_primitives/scan.cuh>

int main() {
  std::vector<int> v{1, 2, 3};
  const auto sum = query::from(v).where([](auto x) { return x > 1; }).sum();
  std::cout << "sum: " << sum << '\n';
  static_assert(query::gpu::table_bits(1000) == 11);
  const bool sized = query::gpu::compact_temp_bytes<query::gpu::compact_policy<double>>(1000) > 128;
  return sum == 5 && sized ? 0 : 1;
}
