#include "running_totals.hpp"

#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <thrust/system/cuda/execution_policy.h>

void running_totals(const double* values, std::size_t n, double* totals, void* stream) {
  thrust::inclusive_scan(thrust::cuda::par_nosync.on(static_cast<cudaStream_t>(stream)), values, values + n, totals);
}
