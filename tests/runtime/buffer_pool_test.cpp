#include "runtime/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "runtime/unneeded_memory.hpp"

namespace query::runtime {
namespace {

constexpr std::size_t mib = 1024 * 1024;

bool aligned(const buffer& b, std::size_t to) { return reinterpret_cast<std::uintptr_t>(b.data()) % to == 0; }

TEST(buffer_pool, aligns_buffers_to_lines_and_large_ones_to_huge_pages) {
  buffer_pool pool;
  for (const std::size_t size : {std::size_t{1}, std::size_t{63}, std::size_t{1000}, 64 * std::size_t{1024}, mib, 2 * mib, 5 * mib + 1}) {
    const buffer b = pool.allocate(size);
    EXPECT_TRUE(aligned(b, size >= 2 * mib ? 2 * mib : 64)) << size;
    EXPECT_EQ(b.size(), size);
    EXPECT_GE(b.capacity(), size);
    std::memset(b.data(), 1, size);
  }
}

TEST(buffer_pool, gives_an_empty_buffer_for_zero_bytes) {
  buffer_pool pool;
  EXPECT_FALSE(pool.allocate(0));
  EXPECT_EQ(pool.used(), 0u);
}

TEST(buffer_pool, reuses_memory_of_the_same_size_class) {
  buffer_pool pool;
  buffer b = pool.allocate(10 * mib);
  const void* first = b.data();
  b.reset();
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_GE(pool.cached(), 10 * mib);
  EXPECT_EQ(pool.allocate(10 * mib - 5).data(), first);
}

TEST(buffer_pool, counts_used_and_peak) {
  buffer_pool pool;
  {
    const buffer a = pool.allocate(4 * mib), b = pool.allocate(6 * mib);
    EXPECT_EQ(pool.used(), a.capacity() + b.capacity());
  }
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_GE(pool.peak(), 10 * mib);
  pool.reset_peak();
  EXPECT_EQ(pool.peak(), 0u);
}

TEST(buffer_pool, trims_its_cache_before_it_refuses) {
  buffer_pool pool(16 * mib);
  pool.allocate(12 * mib);
  EXPECT_GE(pool.cached(), 12 * mib);
  const buffer b = pool.allocate(6 * mib);  // 12 + 6 is over the limit
  EXPECT_LE(pool.used() + pool.cached(), 16 * mib);
}

TEST(buffer_pool, refuses_over_the_limit_and_says_what_to_do) {
  buffer_pool pool(8 * mib);
  const buffer kept = pool.allocate(4 * mib);
  try {
    pool.allocate(6 * mib);
    FAIL() << "no exception";
  } catch (const resource_error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("6 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("4 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("limit: 8 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("memory limit"), std::string::npos) << text;
  }
  EXPECT_EQ(pool.used(), kept.capacity());
  EXPECT_NO_THROW(pool.allocate(4 * mib));
}

// A thread that finds room made by others, and loses it to them, asks again.
TEST(buffer_pool, refuses_nobody_while_there_is_something_to_evict) {
  buffer_pool pool(4 * mib);
  struct holder final : pool_evictor {
    std::mutex lock;
    std::vector<buffer> held;
    std::size_t evict(std::size_t) override {
      buffer b;
      const std::lock_guard hold(lock);
      if (held.empty()) return 0;
      b = std::move(held.back());
      held.pop_back();
      return b.capacity();
    }
  } all;
  pool.add(all);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 5000; ++i) {
          buffer b = pool.allocate(80 * 1024);
          const std::lock_guard hold(all.lock);
          all.held.push_back(std::move(b));
        }
      });
  }
  pool.remove(all);
  EXPECT_LE(pool.peak(), 4 * mib);
}

TEST(buffer_pool, refuses_sizes_that_overflow) {
  buffer_pool pool;
  EXPECT_THROW(pool.allocate(std::numeric_limits<std::size_t>::max()), resource_error);
  EXPECT_THROW(pool.allocate_array<std::uint64_t>(std::numeric_limits<std::size_t>::max() / 4), resource_error);
  EXPECT_EQ(pool.used(), 0u);
}

TEST(buffer_pool, lets_buffers_outlive_it) {
  buffer survivor;
  {
    buffer_pool pool;
    survivor = pool.allocate(3 * mib);
  }
  std::memset(survivor.data(), 7, survivor.size());
}

TEST(buffer_pool, trims_on_request) {
  buffer_pool pool;
  pool.allocate(4 * mib);
  pool.trim();
  EXPECT_EQ(pool.cached(), 0u);
}

// Of a program with hundreds of sessions.
TEST(buffer_pool, keeps_memory_in_the_few_that_were_used_last) {
  std::vector<std::unique_ptr<buffer_pool>> pools;
  for (std::size_t i = 0; i < 3 * buffer_pool::idle_pools; ++i) {
    pools.push_back(std::make_unique<buffer_pool>());
    pools.back()->allocate(4 * mib);
  }
  const auto keeping = [&] {
    std::size_t n = 0;
    for (const auto& p : pools) n += p->cached() > 0;
    return n;
  };
  EXPECT_LE(keeping(), buffer_pool::idle_pools);
  EXPECT_EQ(pools.front()->cached(), 0u);
  EXPECT_GE(pools.back()->cached(), 4 * mib);
  // One that is in use keeps what it has, whoever rests meanwhile.
  const buffer held = pools.front()->allocate(mib);
  pools.front()->allocate(4 * mib);
  for (const auto& p : pools)
    if (p != pools.front()) p->allocate(4 * mib);
  EXPECT_GE(pools.front()->cached(), 4 * mib);
  pools.clear();
}

// The memory of a query that needed much, in a session that does nothing more, or only small queries.
TEST(buffer_pool, gives_back_what_has_not_been_needed_for_a_while) {
  constexpr std::size_t kept = 32 * mib;
  buffer_pool idle, limited(80 * mib), busy;
  for (buffer_pool* p : {&idle, &limited, &busy}) {
    const buffer large = p->allocate(40 * mib), small = p->allocate(20 * mib);
    EXPECT_GE(p->used(), 60 * mib);
  }
  EXPECT_GE(idle.cached(), 60 * mib);  // whoever comes at once gets it
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto much = [&] { return idle.cached() > kept || busy.cached() > kept || limited.cached() > 10 * mib; };
  while (much() && std::chrono::steady_clock::now() < end) {
    busy.allocate(mib);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LE(idle.cached(), kept);
  EXPECT_LE(busy.cached(), kept);
  EXPECT_LE(limited.cached(), 10 * mib);  // an eighth of the limit
}
TEST(buffer_pool, keeps_what_is_needed_again_and_again) {
  buffer_pool pool;
  const void* const first = pool.allocate(100 * mib).data();
  const auto end = std::chrono::steady_clock::now() + 3 * unneeded_memory::a_while;
  std::size_t other = 0;
  for (; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(20)))
    other += pool.allocate(100 * mib).data() != first;
  EXPECT_EQ(other, 0u);
  EXPECT_GE(pool.cached(), 100 * mib);
}
TEST(buffer_pool, gives_back_idle_blocks_beside_one_that_is_needed_again_and_again) {
  buffer_pool pool;
  const void* const first = pool.allocate(64 * mib).data();
  {
    std::vector<buffer> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(pool.allocate(16 * mib));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::size_t other = 0;
  for (; pool.cached() > 64 * mib && std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    other += pool.allocate(64 * mib).data() != first;
  EXPECT_LE(pool.cached(), 64 * mib);
  EXPECT_EQ(other, 0u);
}

TEST(charge, counts_in_used_and_in_the_limit) {
  buffer_pool pool(8 * mib);
  charge strings;
  strings.grow(pool, 3 * mib);
  strings.grow(pool, 2 * mib);
  EXPECT_EQ(strings.bytes(), 5 * mib);
  EXPECT_EQ(pool.used(), 5 * mib);
  EXPECT_THROW(pool.allocate(4 * mib), resource_error);
  EXPECT_THROW(strings.grow(pool, 4 * mib), resource_error);
  EXPECT_EQ(strings.bytes(), 5 * mib);
  strings.shrink(mib);
  EXPECT_EQ(pool.used(), 4 * mib);
  const buffer b = pool.allocate(4 * mib);
  EXPECT_EQ(pool.peak(), 8 * mib);
}

TEST(charge, gets_room_from_what_is_kept_or_can_go) {
  struct evictor final : pool_evictor {
    buffer held;
    std::size_t evict(std::size_t) override {
      const std::size_t bytes = held.capacity();
      held.reset();
      return bytes;
    }
  } other;
  buffer_pool pool(8 * mib);
  pool.add(other);
  pool.allocate(2 * mib);
  other.held = pool.allocate(4 * mib);
  charge strings;
  strings.grow(pool, 3 * mib);
  EXPECT_EQ(other.held.capacity(), 4 * mib);
  EXPECT_EQ(pool.cached(), 0u);
  strings.grow(pool, 5 * mib);
  EXPECT_EQ(other.held.capacity(), 0u);
  EXPECT_EQ(pool.used(), 8 * mib);
  pool.remove(other);
}

TEST(charge, moves_and_outlives_its_pool) {
  auto pool = std::make_unique<buffer_pool>(8 * mib);
  charge a, b;
  a.grow(*pool, mib);
  b.grow(*pool, 2 * mib);
  a.take(std::move(b));
  EXPECT_EQ(a.bytes(), 3 * mib);
  EXPECT_EQ(b.bytes(), 0u);  // NOLINT: as of a buffer
  b = std::move(a);
  EXPECT_EQ(pool->used(), 3 * mib);
  b = charge();
  EXPECT_EQ(pool->used(), 0u);
  b.grow(*pool, mib);
  pool.reset();
}

TEST(buffer, moves_its_ownership) {
  buffer_pool pool;
  buffer a = pool.allocate(100), b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT: what a moved-from buffer is, is part of the contract
  EXPECT_TRUE(b);
  b = pool.allocate(200);
  EXPECT_EQ(pool.used(), b.capacity());
}

}  // namespace
}  // namespace query::runtime
