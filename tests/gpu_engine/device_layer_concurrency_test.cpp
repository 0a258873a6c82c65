// Many threads on one device: memory, transfers and the kernel cache, over the driver double.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/kernel_cache.hpp"
#include "gpu_engine/several/share_threads.hpp"
#include "gpu_engine/transfer.hpp"
#include "runtime/thread_pool.hpp"

namespace query::gpu_engine {
namespace {

constexpr std::size_t kib = 1024;

TEST(device_layer, queries_at_once_move_their_own_data) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    driver_double fake(seed);
    const device d(fake.calls(), 0);
    device_memory memory(d);
    transfer t(d, {.piece = 8 * kib, .pieces = 2, .small = kib});
    runtime::thread_pool threads(3);
    std::atomic<int> wrong{0};
    {
      std::vector<std::jthread> queries;
      for (int q = 0; q < 3; ++q) {
        queries.emplace_back([&, q] {
          const runtime::cancel_flag never;
          const stream s(d);
          for (std::size_t n : {std::size_t{100}, 70 * kib, std::size_t{1000}, 40 * kib}) {
            const std::vector<unsigned char> bytes(n, static_cast<unsigned char>(q * 16 + 1));
            std::vector<unsigned char> back(n);
            const device_buffer b = memory.allocate(n, s);
            t.upload_plain(b.address(), bytes.data(), n, s, threads, never);
            t.download_plain(back.data(), b.address(), n, s, threads, never);
            if (back != bytes) ++wrong;
          }
        });
      }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(memory.counters().used, 0u);
  }
}

TEST(device_layer, threads_share_blocks_without_sharing_their_content) {
  driver_double fake(7);
  const device d(fake.calls(), 0);
  device_memory memory(d);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int q = 0; q < 4; ++q) {
      threads.emplace_back([&, q] {
        const runtime::cancel_flag never;
        const stream s(d);
        const auto mine = static_cast<unsigned char>(q + 1);
        for (int i = 0; i < 50; ++i) {
          const device_buffer b = memory.allocate(4096, s);
          std::vector<unsigned char> back(4096);
          const scoped_context here(d);
          d.calls().cuMemsetD8Async(b.address(), mine, 4096, s.handle());
          d.calls().cuMemcpyDtoHAsync(back.data(), b.address(), 4096, s.handle());
          s.synchronize(never);
          if (back != std::vector<unsigned char>(4096, mine)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(memory.counters().allocations, 200u);
  EXPECT_LE(memory.counters().driver_allocations, 4u);
}

TEST(device_layer, threads_that_want_one_kernel_compile_it_once) {
  driver_double fake;
  const device d(fake.calls(), 0);
  std::atomic<int> compiles{0};
  const auto compile = [&](std::string_view source, int) {
    ++compiles;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::string text = "image:kernel_of_" + std::string(source);
    const auto* at = reinterpret_cast<const std::byte*>(text.c_str());
    return compiled{{at, at + text.size() + 1}, "", 0};
  };
  kernel_cache cache({.folder = "", .compile = compile});
  std::vector<std::shared_ptr<const kernel>> got(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < got.size(); ++i) {
      threads.emplace_back([&, i] {
        const std::string name = i % 2 == 0 ? "even" : "odd";
        got[i] = cache.get(name, "kernel_of_" + name, d);
      });
    }
  }
  EXPECT_EQ(compiles, 2);
  for (std::size_t i = 2; i < got.size(); ++i) EXPECT_EQ(got[i], got[i % 2]);
}

TEST(device_layer, a_compile_error_reaches_every_thread_that_waits) {
  driver_double fake;
  const device d(fake.calls(), 0);
  kernel_cache cache({.folder = "", .compile = [](std::string_view, int) -> compiled {
                        std::this_thread::sleep_for(std::chrono::milliseconds(10));
                        throw internal_error("does not compile");
                      }});
  std::atomic<int> told{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        try {
          cache.get("source", "kernel", d);
        } catch (const internal_error&) {
          ++told;
        }
      });
    }
  }
  EXPECT_EQ(told, 6);
}

TEST(device_layer, threads_of_shares_are_kept_and_serve_queries_at_once) {
  share_threads threads;
  const auto caller = std::this_thread::get_id();
  std::set<std::thread::id> seen;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread::id> ran(3);
    threads.run(3, [&](std::size_t i) { ran[i] = std::this_thread::get_id(); });
    EXPECT_EQ(ran[0], caller);
    EXPECT_EQ((std::set<std::thread::id>(ran.begin(), ran.end()).size()), 3u);
    seen.insert(ran.begin(), ran.end());
    if (round % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until they sleep
  }
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(threads.started(), 2u);
  threads.run(0, [](std::size_t) { FAIL(); });
  std::atomic<int> ran{0};
  {
    std::vector<std::jthread> queries;
    for (int q = 0; q < 4; ++q)
      queries.emplace_back([&] {
        for (int round = 0; round < 100; ++round) {
          int mine[4] = {};  // written by other threads, read behind run
          threads.run(4, [&](std::size_t i) { mine[i] = 1; });
          ran += mine[0] + mine[1] + mine[2] + mine[3];
        }
      });
  }
  EXPECT_EQ(ran, 1600);
  EXPECT_LE(threads.started(), 12u);
}

}  // namespace
}  // namespace query::gpu_engine
