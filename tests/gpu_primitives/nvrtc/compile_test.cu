// Kernels of sorts, scans, reductions, merges, partitions, histograms and first rows compile by the NVRTC that this program is linked
// with, which has no header of its own. No GPU needed. Hashed primitives: hashing_nvrtc_test.cu; every header alone, by the NVRTC that the
// library finds: tests/gpu_engine/primitive_headers_test.cpp.
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string text_of(const std::filesystem::path& header) {
  std::ifstream file(header);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_compiles(const std::string& source, const char* architecture) {
  std::vector<std::string> texts, names;
  for (const auto& header : std::filesystem::directory_iterator(QUERY_SOURCE_DIR "/src/gpu_primitives")) {
    if (header.path().extension() != ".cuh") continue;
    texts.push_back(text_of(header.path()));
    names.push_back("gpu_primitives/" + header.path().filename().string());
    ASSERT_FALSE(texts.back().empty()) << header.path();
  }
  std::vector<const char*> text_pointers, name_pointers;
  for (const std::string& t : texts) text_pointers.push_back(t.c_str());
  for (const std::string& n : names) name_pointers.push_back(n.c_str());
  nvrtcProgram program;
  ASSERT_EQ(nvrtcCreateProgram(&program, source.c_str(), "generated.cu", int(names.size()), text_pointers.data(), name_pointers.data()),
            NVRTC_SUCCESS);
  const std::string target = std::string("--gpu-architecture=") + architecture;
  const char* options[] = {target.c_str(), "--std=c++20"};
  const nvrtcResult result = nvrtcCompileProgram(program, 2, options);
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtcGetProgramLog(program, log.data());
  nvrtcDestroyProgram(&program);
  EXPECT_EQ(result, NVRTC_SUCCESS) << log;
}

const char* const reduce_compact_scan = R"(
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/reduce.cuh"
#include "gpu_primitives/scan.cuh"
using namespace query::gpu;
extern "C" __global__ void total(const double* x, u64 n, void* temp, double* out) {
  reduce<reduce_policy<double>>(n, 0.0, [=](u64 i, double& into) { into += x[i]; }, [](double a, double b) { return a + b; }, temp,
                                [=](double sum) { *out = sum; });
}
struct row { double x; u32 id; };
extern "C" __global__ void positive(const double* x, u64 n, void* temp, u64* count, double* out_x, u32* out_id) {
  compact<compact_policy<row>, row>(
      n, temp, count, [=](u64 i, row& r) { r.x = x[i]; r.id = u32(i); return r.x > 0; },
      [=](u64 at, const row& r) { out_x[at] = r.x; out_id[at] = r.id; });
}
extern "C" __global__ void offsets(const u32* sizes, u64 n, void* temp, u64* out, u64* total) {
  exclusive_scan<scan_policy<u64>, u64>(n, temp, u64(0), [=](u64 i) -> u64 { return sizes[i]; }, [](u64 a, u64 b) { return a + b; },
                                        [=](u64 i, u64 before) { out[i] = before; }, [=](u64 sum) { *total = sum; });
}
)";

const char* const sort = R"(
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/sort_keys.cuh"
using namespace query::gpu;
using policy = radix_policy<u64, u32>;
extern "C" __global__ void count(const double* x, u64 n, void* temp) {
  radix_histogram<policy, 64>(n, temp, [=](u64 i) { return sort_key(x[i]); });
}
extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void sweep(
    u32 pass, const double* x, u64 n, void* temp, radix_buffers<u64, u32> between, u32* order) {
  extern __shared__ __align__(16) u8 shared[];
  radix_sweep<policy, 64, u64, u32, u32>(pass, n, temp, between, shared, [=](u64 i) { return sort_key(x[i]); },
                                         [](u64 i) { return u32(i); }, [](u64, u64) {}, [=](u64 at, u32 row) { order[at] = row; });
}
)";

const char* const others = R"(
#include "gpu_primitives/histogram.cuh"
#include "gpu_primitives/partition.cuh"
#include "gpu_primitives/sampled_bound.cuh"
#include "gpu_primitives/sort_keys.cuh"
#include "gpu_primitives/top_k.cuh"
using namespace query::gpu;
using policy = partition_policy<u32>;
extern "C" __global__ void look(const double* x, u64 n, u32 samples, u64* keys, u8* counts) {
  sample_keys(n, samples, keys, counts, [=](u64 i, u64& key) { key = sort_key(x[i]); return x[i] > 0; });
}
extern "C" __global__ __launch_bounds__(sampled_bound_policy::threads) void choose(u64 n, const u64* keys, const u8* counts, u64* bound) {
  sampled_bound<sampled_bound_policy>(n, 16384, 10, true, keys, counts, bound);
}
extern "C" __global__ void count(const u64* hash, u64 n, void* temp, u64* starts) {
  partition_count<policy>(n, temp, [=](u64 i) { return u32(hash[i] >> 58); }, 64, starts);
}
extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void move(const u64* hash, u64 n, void* temp, u32* row_ids) {
  extern __shared__ __align__(16) u8 shared[];
  partition_move<policy, u32, u32>(n, temp, shared, [=](u64 i) { return u32(hash[i] >> 58); }, [](u64 i) { return u32(i); },
                                   [=](u64 at, u32 row) { row_ids[at] = row; });
}
extern "C" __global__ void ages(const u8* age, u64 n, u64* counts) {
  histogram<histogram_policy, 256>(n, [=](u64 i) { return u32(age[i]); }, counts);
}
extern "C" __global__ void ten_cheapest(const float* price, u64 n, void* temp, u64* rows) {
  top_k<top_k_policy>(n, 10, temp, [=](u64 i) -> u64 { return sort_key(price[i]); }, [=](u32 at, u64, u64 row) { rows[at] = row; });
}
)";

const char* const merges = R"(
#include "gpu_primitives/merge.cuh"
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

TEST(nvrtc_test, compiles_reduce_compact_and_scan) {
  for (const char* architecture : {"sm_80", "sm_90"}) expect_compiles(reduce_compact_scan, architecture);
}
TEST(nvrtc_test, compiles_sorts) {
  for (const char* architecture : {"sm_80", "sm_90"}) expect_compiles(sort, architecture);
}
TEST(nvrtc_test, compiles_merges) {
  for (const char* architecture : {"sm_80", "sm_90"}) expect_compiles(merges, architecture);
}
TEST(nvrtc_test, compiles_partition_histogram_and_the_first_rows) {
  for (const char* architecture : {"sm_80", "sm_90"}) expect_compiles(others, architecture);
}

}  // namespace
