#include "gpu_engine/kernel_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <query/errors.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/launch.hpp"
#include "gpu_engine/temporary_folder.hpp"

namespace query::gpu_engine {
namespace {

// Compiles "source" to the image of a driver double that has the function "twice".
compiled image_for(std::string_view source, int capability) {
  if (source == "does not compile") throw internal_error("error: expected a declaration");
  const std::string text = "image:twice " + std::string(source) + " for sm_" + std::to_string(capability);
  const auto* at = reinterpret_cast<const std::byte*>(text.c_str());
  return {{at, at + text.size() + 1}, "", 0.5};
}

class kernel_cache_test : public testing::Test {
 protected:
  driver_double fake_;
  device gpu_{fake_.calls(), 0};
  temporary_folder folder_;

  kernel_cache::settings settings(std::span<const named_source> headers = {}, std::vector<std::string> options = {}) {
    return {.headers = headers, .options = std::move(options), .folder = folder_.path(), .compile = image_for};
  }
};

TEST_F(kernel_cache_test, compiles_a_source_once) {
  kernel_cache cache(settings());
  const auto first = cache.get("source", "twice", gpu_), second = cache.get("source", "twice", gpu_);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->max_threads, 1024u);
  EXPECT_EQ(first->registers, 32u);
  EXPECT_EQ(cache.counters().compiled, 1u);
  EXPECT_EQ(cache.counters().hits, 1u);
  EXPECT_EQ(cache.counters().compile_seconds, 0.5);
  cache.get("another source", "twice", gpu_);
  EXPECT_EQ(cache.counters().compiled, 2u);
}

TEST_F(kernel_cache_test, loads_from_disk_what_another_process_compiled) {
  kernel_cache(settings()).get("source", "twice", gpu_);
  kernel_cache cache(settings());
  cache.get("source", "twice", gpu_);
  EXPECT_EQ(cache.counters().compiled, 0u);
  EXPECT_EQ(cache.counters().disk_hits, 1u);
}

TEST_F(kernel_cache_test, compiles_again_for_other_headers_and_options) {
  kernel_cache(settings()).get("source", "twice", gpu_);
  const named_source one[] = {{"a.cuh", "int a;"}}, other[] = {{"a.cuh", "int b;"}};
  for (const kernel_cache::settings& s : {settings(one), settings(other), settings({}, {"-G"})}) {
    kernel_cache cache(s);
    cache.get("source", "twice", gpu_);
    EXPECT_EQ(cache.counters().compiled, 1u);
  }
}

TEST_F(kernel_cache_test, compiles_again_what_the_driver_refuses_to_load) {
  kernel_cache::settings bad = settings();
  bad.compile = [](std::string_view, int) { return compiled{{std::byte{'x'}, std::byte{0}}, "", 0}; };
  EXPECT_THROW(kernel_cache(bad).get("source", "twice", gpu_), internal_error);
  // Nor was that kept:
  kernel_cache cache(settings());
  cache.get("source", "twice", gpu_);
  EXPECT_EQ(cache.counters().compiled, 1u);
  // A file that was good for another driver:
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(file);
  const disk_cache files(folder_.path());
  const std::string key = "nvrtc 0\nheaders " + hash_text("").hex() + "\nsm 90\nsource";
  ASSERT_TRUE(files.store(key, std::vector<std::byte>(4)));
  kernel_cache again(settings());
  again.get("source", "twice", gpu_);
  EXPECT_EQ(again.counters().compiled, 1u);
  EXPECT_EQ(again.counters().disk_hits, 0u);
}

TEST_F(kernel_cache_test, names_a_function_that_is_not_there) {
  kernel_cache cache(settings());
  try {
    cache.get("source", "thrice", gpu_);
    ADD_FAILURE();
  } catch (const internal_error& e) {
    EXPECT_NE(std::string(e.what()).find("thrice"), std::string::npos);
  }
}

TEST_F(kernel_cache_test, asks_the_compiler_again_after_a_failure) {
  kernel_cache cache(settings());
  EXPECT_THROW(cache.get("does not compile", "twice", gpu_), internal_error);
  EXPECT_THROW(cache.get("does not compile", "twice", gpu_), internal_error);
  EXPECT_EQ(cache.counters().hits, 0u);
}

TEST_F(kernel_cache_test, a_kernel_stays_loaded_without_its_cache) {
  auto cache = std::make_unique<kernel_cache>(settings());
  auto k = cache->get("source", "twice", gpu_);
  cache.reset();
  EXPECT_EQ(fake_.modules(), 1u);
  k.reset();
  EXPECT_EQ(fake_.modules(), 0u);
}

TEST_F(kernel_cache_test, kernels_get_their_arguments_by_value) {
  kernel_cache cache(settings());
  const auto k = cache.get("source", "twice", gpu_);
  std::uint64_t seen = 0;
  fake_.add_kernel("twice", [&](void** arguments) { seen = 2 * *static_cast<std::uint64_t*>(arguments[0]); });
  const stream s(gpu_);
  launch(*k, {.grid = 1}, s, std::uint64_t{21});
  EXPECT_EQ(seen, 0u);  // not yet
  s.synchronize(runtime::cancel_flag());
  EXPECT_EQ(seen, 42u);
}

TEST_F(kernel_cache_test, launches_refuse_shapes_that_do_not_fit) {
  kernel_cache cache(settings());
  const auto k = cache.get("source", "twice", gpu_);
  fake_.add_kernel("twice", [](void**) {});
  const stream s(gpu_);
  EXPECT_THROW(launch(*k, {.block = 2048}, s), internal_error);
  EXPECT_THROW(launch(*k, {.dynamic_shared = 200'000}, s), internal_error);
  EXPECT_NO_THROW(launch(*k, {.dynamic_shared = 99'000}, s));
  EXPECT_NO_THROW(launch(*k, {.grid = 0, .block = 2048}, s));
  EXPECT_EQ(resident_blocks(*k, 256), 4u * 8);
  EXPECT_EQ(blocks_for(0, 256), 0u);
  EXPECT_EQ(blocks_for(257, 256), 2u);
  EXPECT_THROW(blocks_for(std::size_t{1} << 40, 256), internal_error);
}

}  // namespace
}  // namespace query::gpu_engine
