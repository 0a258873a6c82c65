#include "gpu_engine/kernel_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/kernel_parts.hpp"
#include "gpu_engine/launch.hpp"
#include "gpu_engine/temporary_folder.hpp"
#include "runtime/cancellation.hpp"

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

TEST_F(kernel_cache_test, unloads_what_was_not_asked_for_longest) {
  kernel_cache::settings s = settings();
  s.programs = 8;
  kernel_cache cache(s);
  const auto ask = [&](int i) { return cache.get("source " + std::to_string(i), "twice", gpu_); };
  const auto held = ask(0);
  for (int i = 1; i < 8; ++i) ask(i);
  ask(2);
  EXPECT_EQ(cache.counters().evicted, 0u);
  ask(8);  // 0 and 1 leave
  EXPECT_EQ(cache.counters().evicted, 2u);
  EXPECT_EQ(fake_.modules(), 8u) << "the one that is held stays loaded";
  EXPECT_TRUE(cache.has(held->key)) << "on disk";
  const auto hits = cache.counters().hits;
  ask(2);
  EXPECT_EQ(cache.counters().hits, hits + 1);
  EXPECT_NE(ask(0), held);
  EXPECT_EQ(cache.counters().compiled, 9u);
  EXPECT_EQ(cache.counters().disk_hits, 1u);
  for (int i = 0; i < 1000; ++i) ask(i);
  EXPECT_LE(fake_.modules(), 9u);  // and the one that is held
}

// The machine code of linked kernels is the linker's.
TEST_F(kernel_cache_test, links_again_for_another_linker) {
  const device_code function{};
  const auto made = [&](int link_version, std::span<const device_code> functions) {
    kernel_cache::settings s = settings();
    s.link = [](std::string_view source, std::span<const device_code>, int capability) { return image_for(source, capability); };
    s.link_version = link_version;
    kernel_cache cache(s);
    cache.get("source", "twice", gpu_, functions);
    return cache.counters().compiled;
  };
  EXPECT_EQ(made(13000, {&function, 1}), 1u);
  EXPECT_EQ(made(13000, {&function, 1}), 0u);
  EXPECT_EQ(made(13010, {&function, 1}), 1u);
  EXPECT_EQ(made(13000, {&function, 1}), 0u);
  EXPECT_EQ(made(13000, {}), 1u);  // the same source, not linked
  EXPECT_EQ(made(13010, {}), 0u);
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

const std::string two_kernels = R"(struct words { int w[1]; };
__device__ int shared_by_both() {
  return 1;
}
extern "C" __global__ void __launch_bounds__(policy<int>::threads, (2)) first(const __grid_constant__ words p) {
  if (p.w[0]) {
  }
}
__device__ int between() { return 2; }
extern "C" __global__ void second(const int* a, int* b) {
  *b = *a;
}
)";

TEST_F(kernel_cache_test, compiles_the_kernels_of_a_program_apart) {
  const auto parts = kernel_parts(two_kernels);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].entry, "first");
  EXPECT_EQ(parts[1].entry, "second");
  std::vector<std::string> seen;
  kernel_cache::settings s = settings();
  s.compile = [&](std::string_view source, int capability) { return seen.emplace_back(source), image_for(source, capability); };
  kernel_cache cache(s);
  const auto second = cache.get(two_kernels, "second", gpu_);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0], two_kernels.substr(0, parts[0].from) + two_kernels.substr(parts[0].to));
  EXPECT_NE(cache.get(two_kernels, "first", gpu_)->key.hex(), second->key.hex());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1], two_kernels.substr(0, parts[1].from));
  EXPECT_TRUE(cache.has(second->key));
  EXPECT_EQ(cache.get(two_kernels, "second", gpu_), second);
  EXPECT_EQ(cache.counters().compiled, 2u);
  EXPECT_THROW(cache.get(two_kernels, "third", gpu_), internal_error);
}

TEST_F(kernel_cache_test, takes_programs_of_other_forms_whole) {
  EXPECT_TRUE(kernel_parts("\nextern \"C\" __global__ void k(int* p) { *p = 1; }\n").empty());
  EXPECT_TRUE(kernel_parts(two_kernels + "extern \"C\" __global__ void third() {}\n").empty());
  EXPECT_TRUE(kernel_parts(two_kernels.substr(0, two_kernels.find("__device__ int between"))).empty());  // it has one
}

TEST_F(kernel_cache_test, compiles_the_other_kernels_of_a_program_meanwhile) {
  std::promise<void> other_compiles;
  kernel_cache::settings s = settings();
  s.threads = 1;
  s.compile = [&](std::string_view source, int capability) {
    if (source.find(" second(") != source.npos) other_compiles.set_value();
    else EXPECT_EQ(other_compiles.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    return image_for(source, capability);
  };
  kernel_cache cache(s);
  cache.get(two_kernels, "first", gpu_);
  cache.get(two_kernels, "second", gpu_);
  EXPECT_EQ(cache.counters().compiled, 2u);
}

TEST_F(kernel_cache_test, begins_kernels_that_nobody_waits_for_yet) {
  std::promise<void> go_on;
  const std::shared_future<void> told = go_on.get_future().share();
  kernel_cache::settings s = settings();
  s.threads = 2;
  s.compile = [&](std::string_view source, int capability) {
    told.wait();
    return image_for(source, capability);
  };
  kernel_cache cache(s);
  EXPECT_EQ(cache.get(two_kernels, "", gpu_), nullptr);
  EXPECT_EQ(cache.get(two_kernels, "", gpu_), nullptr);  // begun, not there
  go_on.set_value();
  EXPECT_NE(cache.get(two_kernels, "second", gpu_), nullptr);
  EXPECT_NE(cache.get(two_kernels, "", gpu_), nullptr);
  EXPECT_NE(cache.get(two_kernels, "first", gpu_), nullptr);
  EXPECT_EQ(cache.counters().compiled, 2u);
}

TEST_F(kernel_cache_test, who_waits_for_a_compilation_leaves_when_its_query_stops) {
  std::promise<void> go_on;
  const std::shared_future<void> told = go_on.get_future().share();
  runtime::cancel_flag stopped;
  kernel_cache::settings s = settings();
  s.compile = [&](std::string_view source, int capability) {
    stopped.cancel();
    told.wait();
    return image_for(source, capability);
  };
  kernel_cache cache(s);
  {
    const detail::stop_scope scope(stopped.state());
    EXPECT_THROW(cache.get("source", "twice", gpu_), cancelled);
  }
  EXPECT_EQ(cache.counters().compiled, 0u);
  go_on.set_value();
  // It goes on by itself, and the next who asks has what it makes.
  EXPECT_NE(cache.get("source", "twice", gpu_), nullptr);
  EXPECT_EQ(cache.counters().compiled, 1u);
}

// A compilation may take minutes: the CPU takes over, and who comes after it has the kernel.
TEST_F(kernel_cache_test, nobody_waits_for_a_compilation_for_long) {
  std::promise<void> go_on;
  const std::shared_future<void> may_go_on = go_on.get_future().share();
  kernel_cache::settings s = settings();
  s.patience = 0.05;
  s.compile = [&](std::string_view source, int capability) {
    may_go_on.wait();
    return image_for(source, capability);
  };
  kernel_cache cache(s);
  EXPECT_THROW(cache.get("source", "twice", gpu_), still_compiling);
  // From the beginning of the compilation on: the next one waits no more.
  EXPECT_THROW(cache.get("source", "twice", gpu_), still_compiling);
  auto demanded = std::async(std::launch::async, [&] {
    const waits_for_kernels waits(true);
    return cache.get("source", "twice", gpu_);
  });
  EXPECT_EQ(demanded.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  go_on.set_value();
  EXPECT_NE(demanded.get(), nullptr);
  EXPECT_NE(cache.get("source", "twice", gpu_), nullptr);
  EXPECT_EQ(cache.counters().compiled, 1u);
}

// As NVRTC does, this compiler makes a static object while it works, which goes before all that were made earlier.
compiled compile_with_a_late_object(std::string_view source, int capability, std::promise<void>& begun) {
  struct late_object {
    std::atomic<int> users = 0;
    ~late_object() {
      if (users != 0) std::_Exit(3);
    }
  };
  static late_object used;
  ++used.users;
  begun.set_value();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  --used.users;
  return image_for(source, capability);
}
TEST(kernel_cache_death_test, no_thread_compiles_while_static_objects_go) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static driver_double fake;
        static const device gpu(fake.calls(), 0);
        static std::promise<void> begun;
        static kernel_cache cache({.folder = "",
                                   .compile = [](std::string_view source, int capability) {
                                     return compile_with_a_late_object(source, capability, begun);
                                   },
                                   .patience = 0.0});
        try {
          (void)cache.get("source", "twice", gpu);
        } catch (const still_compiling&) {
        }
        begun.get_future().wait();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(kernel_cache_test, begins_nothing_without_threads) {
  kernel_cache::settings s = settings();
  s.threads = 0;
  kernel_cache cache(s);
  EXPECT_EQ(cache.get(two_kernels, "", gpu_), nullptr);
  EXPECT_EQ(cache.counters().compiled, 0u);
}

TEST_F(kernel_cache_test, a_kernel_that_fails_meanwhile_fails_where_it_is_asked_for) {
  kernel_cache::settings s = settings();
  s.threads = 4;
  s.compile = [&](std::string_view source, int capability) {
    if (source.find(" second(") != source.npos) throw internal_error("error: expected a declaration");
    return image_for(source, capability);
  };
  kernel_cache cache(s);
  EXPECT_NO_THROW(cache.get(two_kernels, "first", gpu_));
  EXPECT_THROW(cache.get(two_kernels, "second", gpu_), internal_error);
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
