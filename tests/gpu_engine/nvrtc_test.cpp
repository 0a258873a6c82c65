#include "gpu_engine/nvrtc.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/launch.hpp"
#include "gpu_engine/temporary_folder.hpp"

namespace query::gpu_engine {
namespace {

const char* const scale_source = R"(
#include "test/scale.cuh"
extern "C" __global__ void scale(unsigned long long* values, unsigned long long n, unsigned long long by) {
  const unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  if (i < n) values[i] = scaled(values[i], by);
}
)";
const named_source scale_header[] = {{"test/scale.cuh", R"(
#pragma once
template <class T> concept number = requires(T t) { t * t; };
__device__ auto scaled(number auto a, number auto b) { return a * b; }
)"}};

class nvrtc_test : public testing::Test {
 protected:
  void SetUp() override {
    if (compiler::find() == nullptr) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
  }
};

TEST(nvrtc, says_why_it_is_not_there) { EXPECT_EQ(compiler::find() == nullptr, !compiler::why_not().empty()) << compiler::why_not(); }

TEST_F(nvrtc_test, makes_machine_code_from_sources_in_memory) {
  const compiled c = compiler::find()->compile(scale_source, scale_header, 90);
  ASSERT_GT(c.cubin.size(), 4u);
  EXPECT_EQ(std::memcmp(c.cubin.data(), "\x7f" "ELF", 4), 0);
  EXPECT_GT(c.seconds, 0);
  EXPECT_GE(compiler::find()->version(), 11020);
}

TEST_F(nvrtc_test, makes_portable_code_for_a_gpu_that_it_does_not_know) {
  const compiled c = compiler::find()->compile(scale_source, scale_header, 999);
  const std::string ptx(reinterpret_cast<const char*>(c.cubin.data()), c.cubin.size());
  EXPECT_NE(ptx.find(".version"), std::string::npos);
  EXPECT_EQ(ptx.back(), '\0');
}

// Generated kernels are compiled without the declarations of textures and of the device's run-time library; users' functions have them.
TEST_F(nvrtc_test, leaves_users_functions_all_declarations) {
  const std::string own = R"(
extern "C" __device__ float at(const void* t) { return tex1Dfetch<float>(*static_cast<const cudaTextureObject_t*>(t), 3); }
)";
  const std::vector<std::string> linked_later = {compiler::link_later};
  EXPECT_GT(compiler::find()->compile(own, {}, 90, linked_later).cubin.size(), 4u);
  if (compiler::find()->version() < 12040) return;
  EXPECT_THROW(compiler::find()->compile(own, {}, 90), internal_error);
}

TEST_F(nvrtc_test, tells_what_does_not_compile) {
  try {
    compiler::find()->compile("extern \"C\" __global__ void k() { no_such_name = 1; }\n", {}, 90);
    ADD_FAILURE();
  } catch (const internal_error& e) {
    EXPECT_NE(std::string(e.what()).find("no_such_name"), std::string::npos) << e.what();
    EXPECT_LT(std::strlen(e.what()), 4300u);
  }
  std::string bad;
  for (int i = 0; i < 200; ++i) bad += "int a" + std::to_string(i) + " = a_name_that_is_not_declared_anywhere;\n";
  try {
    compiler::find()->compile(bad, {}, 90);
    ADD_FAILURE();
  } catch (const internal_error& e) {
    EXPECT_LT(std::strlen(e.what()), 4300u);
  }
}

TEST_F(nvrtc_test, passes_options_on) {
  const char* source = "static_assert(WIDTH == 4);";
  const std::string option = "-DWIDTH=4";
  EXPECT_NO_THROW(compiler::find()->compile(source, {}, 90, {&option, 1}));
  EXPECT_THROW(compiler::find()->compile(source, {}, 90), internal_error);
}

TEST_F(nvrtc_test, keeps_the_source_where_told) {
  const temporary_folder folder;
  ::setenv("QUERY_GPU_KEEP_SOURCE", folder.path().c_str(), 1);
  std::string what;
  try {
    compiler::find()->compile("this does not compile", {}, 90);
  } catch (const internal_error& e) {
    what = e.what();
  }
  ::unsetenv("QUERY_GPU_KEEP_SOURCE");
  const std::filesystem::path kept = std::filesystem::directory_iterator(folder.path())->path();
  EXPECT_NE(what.find(kept.string()), std::string::npos) << what;
  std::ifstream file(kept);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "this does not compile");
}

TEST_F(nvrtc_test, what_it_makes_runs) {
  const device* gpu = device::first();
  if (gpu == nullptr) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
  const temporary_folder folder;
  for (const std::uint64_t disk_hits : {0, 1}) {
    kernel_cache cache({.headers = scale_header, .folder = folder.path()});
    const auto k = cache.get(scale_source, "scale", *gpu);
    EXPECT_EQ(cache.counters().disk_hits, disk_hits);
    EXPECT_GT(k->registers, 0u);
    EXPECT_GE(k->max_threads, 256u);
    EXPECT_GE(resident_blocks(*k, 256), static_cast<unsigned>(gpu->multiprocessors()));
    const runtime::cancel_flag never;
    const stream s(*gpu);
    device_memory memory(*gpu);
    std::vector<std::uint64_t> values(1000, 7);
    const device_buffer b = memory.allocate(values.size() * 8, s);
    const scoped_context here(*gpu);
    QUERY_CUDA(gpu->calls(), cuMemcpyHtoDAsync, b.address(), values.data(), b.size(), s.handle());
    launch(*k, {.grid = blocks_for(values.size(), 256)}, s, b.address(), std::uint64_t{values.size()}, std::uint64_t{6});
    QUERY_CUDA(gpu->calls(), cuMemcpyDtoHAsync, values.data(), b.address(), b.size(), s.handle());
    s.synchronize(never);
    EXPECT_EQ(values, std::vector<std::uint64_t>(1000, 42));
  }
}

}  // namespace
}  // namespace query::gpu_engine
