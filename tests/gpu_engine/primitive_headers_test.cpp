// Each device header that the library carries compiles by itself, as the first of a text for NVRTC: whoever writes a kernel includes what
// it names, in any order. The primitives that no kernel of the engine includes are instantiated by none of its tests; they get kernels
// here. Needs NVRTC and no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/nvrtc.hpp"

namespace query::gpu_engine {
namespace {

constexpr int capabilities[] = {80, 90};

const char* const histogram_kernels = R"(
using namespace query::gpu;
extern "C" __global__ void ages(const u8* age, u64 n, u64* counts) {
  histogram<histogram_policy, 256>(n, [=](u64 i) { return u32(age[i]); }, counts);
}
)";

const char* const top_k_kernels = R"(
#include "gpu_primitives/sort_keys.cuh"
using namespace query::gpu;
extern "C" __global__ void ten_cheapest(const float* price, u64 n, void* temp, u64* rows) {
  top_k<top_k_policy>(n, 10, temp, [=](u64 i) -> u64 { return sort_key(price[i]); }, [=](u32 at, u64, u64 row) { rows[at] = row; });
}
)";

const char* const merge_kernels = R"(
#include "gpu_primitives/sort_keys.cuh"
using namespace query::gpu;
using policy = merge_policy<u64, u32>;
struct ascending { __device__ bool operator()(double x, double y) const { return sort_key(x) < sort_key(y); } };
extern "C" __global__ void split(const double* a, u64 na, const double* b, u64 nb, u64* temp) {
  merge_split<policy>(na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; }, ascending{});
}
extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void merge(
    const double* a, const u32* a_rows, u64 na, const double* b, const u32* b_rows, u64 nb, const u64* temp, double* keys, u32* rows) {
  merge_runs<policy, double, u32>(na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; },
                                  [=](u64 i) { return a_rows[i]; }, [=](u64 i) { return b_rows[i]; }, ascending{},
                                  [=](u64 at, double key) { keys[at] = key; }, [=](u64 at, u32 row) { rows[at] = row; });
}
)";

const char* const partition_kernels = R"(
using namespace query::gpu;
using policy = partition_policy<u32>;
extern "C" __global__ void count(const u64* hash, u64 n, void* temp, u64* starts) {
  partition_count<policy>(n, temp, [=](u64 i) { return u32(hash[i] >> 58); }, 64, starts);
}
extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void move(const u64* hash, u64 n, void* temp, u32* row_ids) {
  extern __shared__ __align__(16) u8 shared[];
  partition_move<policy, u32, u32>(n, temp, shared, [=](u64 i) { return u32(hash[i] >> 58); }, [](u64 i) { return u32(i); },
                                   [=](u64 at, u32 row) { row_ids[at] = row; });
}
__device__ auto range_of(const double* price, const double* bounds) {
  return range_part([=](u64 i) { return price[i]; }, bounds, 64);
}
extern "C" __global__ void count_ranges(const double* price, const double* bounds, u64 n, void* temp, u64* starts) {
  partition_count<policy>(n, temp, range_of(price, bounds), 65, starts);
}
extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void move_ranges(const double* price, const double* bounds, u64 n,
                                                                                          void* temp, u32* row_ids) {
  extern __shared__ __align__(16) u8 shared[];
  partition_move<policy, u32, u32>(n, temp, shared, range_of(price, bounds), [](u64 i) { return u32(i); },
                                   [=](u64 at, u32 row) { row_ids[at] = row; });
}
extern "C" __global__ void count_hashes(const u64* id, u64 n, void* temp, u64* starts) {
  partition_count<policy>(n, temp, hash_part([=](u64 i) { return id[i]; }, bitwise_keys<u64>{}, 64), 64, starts);
}
extern "C" __global__ void count_made_hashes(const u64* hash, u64 n, void* temp, u64* starts) {
  partition_count<policy>(n, temp, hash_part([=](u64 i) { return hash[i]; }, 200), 200, starts);
}
)";

// Of the primitives that the engine's kernels leave to others.
const std::map<std::string_view, const char*> kernels_of = {{"gpu_primitives/histogram.cuh", histogram_kernels},
                                                            {"gpu_primitives/merge.cuh", merge_kernels},
                                                            {"gpu_primitives/partition.cuh", partition_kernels},
                                                            {"gpu_primitives/top_k.cuh", top_k_kernels}};

class primitive_headers : public testing::Test {
 protected:
  void SetUp() override {
    if (compiler::find() == nullptr) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
  }

  static void expect_compiles(std::string_view header, const std::string& rest) {
    const std::string text = "#include \"" + std::string(header) + "\"\n" + rest;
    for (const int capability : capabilities)
      EXPECT_NO_THROW((void)compiler::find()->compile(text, embedded_sources(), capability, {})) << header << " for " << capability;
  }
};

TEST_F(primitive_headers, compile_alone) {
  const auto headers = embedded_sources();
  EXPECT_GT(std::count_if(headers.begin(), headers.end(), [](const named_source& s) { return s.name.starts_with("gpu_primitives/"); }), 30);
  for (const named_source& header : headers) expect_compiles(header.name, "");
}

TEST_F(primitive_headers, compile_with_kernels_where_the_engine_has_none) {
  for (const auto& [header, kernels] : kernels_of) expect_compiles(header, kernels);
}

}  // namespace
}  // namespace query::gpu_engine
