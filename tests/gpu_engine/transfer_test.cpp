#include "gpu_engine/transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/tbb_scheduler.hpp"
#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/on_device.hpp"

namespace query::gpu_engine {
namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

std::vector<unsigned char> random_bytes(std::size_t n, unsigned seed) {
  std::vector<unsigned char> bytes(n);
  std::mt19937_64 random(seed);
  std::size_t at = 0;
  for (; at + 8 <= n; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[at], &word, 8);
  }
  for (; at < n; ++at) bytes[at] = static_cast<unsigned char>(random());
  return bytes;
}

class transfer_test : public on_device {
 protected:
  cpu::tbb_scheduler threads_{4};

  std::vector<unsigned char> there_and_back(transfer& t, const std::vector<unsigned char>& bytes, const stream& s) {
    device_memory memory(gpu());
    const device_buffer b = memory.allocate(bytes.size(), s);
    std::vector<unsigned char> source = bytes, back(bytes.size());
    t.upload_plain(b.address(), source.data(), bytes.size(), s, threads_, never_);
    std::fill(source.begin(), source.end(), static_cast<unsigned char>(0xAA));  // the source has been read when upload returns
    t.download_plain(back.data(), b.address(), bytes.size(), s, threads_, never_);
    return back;
  }
};
QUERY_ON_DEVICES(transfer_test);

TEST_P(transfer_test, brings_back_what_was_sent) {
  transfer t(gpu());
  const stream s(gpu());
  unsigned seed = 0;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, 64 * kib - 1, 64 * kib, 64 * kib + 1, mib + 3, 20 * mib + 5,
                              70 * mib}) {
    const std::vector<unsigned char> bytes = random_bytes(n, ++seed);
    EXPECT_TRUE(there_and_back(t, bytes, s) == bytes) << n << " bytes";
  }
}

TEST_P(transfer_test, brings_back_what_was_sent_through_a_small_ring) {
  for (const int pieces : {1, 2, 3}) {
    transfer t(gpu(), {.piece = 4 * kib, .pieces = pieces, .small = 256});
    const stream s(gpu());
    for (unsigned seed = 0; seed < 20; ++seed) {
      const std::vector<unsigned char> bytes = random_bytes(100 + seed * 7919, seed);
      EXPECT_TRUE(there_and_back(t, bytes, s) == bytes) << "seed " << seed << ", " << pieces << " pieces";
    }
  }
}

// Parts of any length, one after the other through one ring.
TEST_P(transfer_test, sends_several_parts_at_once) {
  for (const int pieces : {1, 2, 3}) {
    transfer t(gpu(), {.piece = 4 * kib, .pieces = pieces, .small = 256});
    const stream s(gpu());
    device_memory memory(gpu());
    std::vector<std::vector<unsigned char>> sources;
    for (const std::size_t n : {std::size_t{100'003}, std::size_t{0}, std::size_t{257}, std::size_t{13}, std::size_t{4096}, 40 * kib})
      sources.push_back(random_bytes(n, static_cast<unsigned>(sources.size() + 1)));
    std::vector<device_buffer> there;
    std::vector<std::function<void(std::size_t, std::size_t, std::byte* const*)>> fills;
    std::vector<transfer::column> columns;
    for (const auto& bytes : sources) {
      there.push_back(memory.allocate(std::max<std::size_t>(bytes.size(), 1), s));
      columns.push_back({there.back().address(), 1});
      fills.push_back([&bytes](std::size_t first, std::size_t n, std::byte* const* to) { std::memcpy(*to, bytes.data() + first, n); });
    }
    std::vector<transfer::part> parts;
    for (std::size_t i = 0; i < sources.size(); ++i) parts.push_back({sources[i].size(), {&columns[i], 1}, fills[i]});
    t.upload_all(parts, s, threads_, never_);
    EXPECT_EQ(t.counters().transfers, 5u);
    std::size_t all = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      std::vector<unsigned char> back(sources[i].size());
      t.download_plain(back.data(), there[i].address(), back.size(), s, threads_, never_);
      EXPECT_TRUE(back == sources[i]) << "part " << i << ", " << pieces << " pieces";
      all += back.size();
    }
    EXPECT_EQ(t.counters().bytes_up, all);
    // One that fails stops the others.
    const auto fails = [](std::size_t, std::size_t, std::byte* const*) { throw std::runtime_error("of a part"); };
    parts[4].fill = fails;
    EXPECT_THROW(t.upload_all(parts, s, threads_, never_), std::runtime_error);
    s.synchronize(never_);
  }
}

// Columns of one part, whose rows are cut together: fill is asked for each row once, and each column arrives whole.
TEST_P(transfer_test, sends_columns_of_rows_together) {
  const std::vector<std::vector<std::size_t>> shapes = {{4, 8}, {1, 2, 12}, {8, 8, 8, 100}, {3}};
  for (const auto& sizes : shapes)
    for (const std::size_t n : {std::size_t{1}, std::size_t{13}, std::size_t{10'007}}) {
      transfer t(gpu(), {.piece = 4 * kib, .pieces = 2, .small = 256});
      const stream s(gpu());
      device_memory memory(gpu());
      std::size_t row = 0;
      for (const std::size_t size : sizes) row += size;
      const std::vector<unsigned char> rows = random_bytes(n * row, static_cast<unsigned>(n));
      std::vector<device_buffer> there;
      std::vector<transfer::column> columns;
      for (const std::size_t size : sizes) {
        there.push_back(memory.allocate(n * size, s));
        columns.push_back({there.back().address(), size});
      }
      std::vector<std::atomic<int>> asked(n);
      const auto fill = [&](std::size_t first, std::size_t count, std::byte* const* to) {
        for (std::size_t i = 0; i < count; ++i) {
          ++asked[first + i];
          const unsigned char* at = rows.data() + (first + i) * row;
          for (std::size_t c = 0; c < sizes.size(); at += sizes[c++]) std::memcpy(to[c] + i * sizes[c], at, sizes[c]);
        }
      };
      const transfer::part part{n, columns, fill};
      t.upload_all({&part, 1}, s, threads_, never_);
      EXPECT_EQ(t.counters().bytes_up, n * row);
      for (const auto& times : asked) EXPECT_EQ(times, 1);
      std::size_t offset = 0;
      for (std::size_t c = 0; c < sizes.size(); offset += sizes[c++]) {
        std::vector<unsigned char> back(n * sizes[c]), wanted(n * sizes[c]);
        t.download_plain(back.data(), there[c].address(), back.size(), s, threads_, never_);
        for (std::size_t i = 0; i < n; ++i) std::memcpy(wanted.data() + i * sizes[c], rows.data() + i * row + offset, sizes[c]);
        EXPECT_TRUE(back == wanted) << "column " << c << " of " << sizes.size() << ", " << n << " rows";
      }
    }
}

TEST_P(transfer_test, counts_bytes_and_keeps_its_staging_buffers) {
  transfer t(gpu());
  const stream s(gpu());
  EXPECT_EQ(t.counters().pinned_bytes, 0u);
  const std::vector<unsigned char> large = random_bytes(3 * mib, 1), small = random_bytes(100, 2);
  there_and_back(t, large, s);
  there_and_back(t, small, s);
  const transfer_counters first = t.counters();
  EXPECT_EQ(first.bytes_up, large.size() + small.size());
  EXPECT_EQ(first.bytes_down, large.size() + small.size());
  EXPECT_EQ(first.transfers, 4u);
  EXPECT_GE(first.pinned_allocations, 4u + 4 + 1);
  EXPECT_LE(first.pinned_allocations, 4u + 4 + 2);  // the small upload may still have its buffer when the download asks
  for (int i = 0; i < 5; ++i) there_and_back(t, large, s);
  EXPECT_EQ(t.counters().pinned_allocations, first.pinned_allocations);
  EXPECT_EQ(t.counters().pinned_bytes, first.pinned_bytes);
}

TEST_P(transfer_test, fills_whole_values_each_byte_once) {
  transfer t(gpu(), {.piece = 64 * kib, .pieces = 2, .small = kib});
  const stream s(gpu());
  device_memory memory(gpu());
  for (const std::size_t granule : {1, 4, 12, 100, 1000, 5000, 65536}) {
    const std::size_t n = granule * (400'000 / granule);
    std::vector<std::atomic<int>> written(n);
    const device_buffer b = memory.allocate(n, s);
    const std::size_t aligned_to = granule * 64 <= 64 * kib ? granule * 64 : granule;
    const auto fill = [&](std::size_t first, std::size_t count, void* to) {
      EXPECT_EQ(first % aligned_to, 0u);
      if (aligned_to != granule) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to) % 64, 0u);
      }
      std::memset(to, 1, count);
      for (std::size_t i = first; i < first + count; ++i) ++written[i];
    };
    t.upload(b.address(), n, granule, fill, s, threads_, never_);
    EXPECT_TRUE(std::all_of(written.begin(), written.end(), [](const auto& times) { return times == 1; })) << granule;
    const auto take = [&](std::size_t first, std::size_t count, const void*) {
      EXPECT_EQ(first % aligned_to, 0u);
      for (std::size_t i = first; i < first + count; ++i) ++written[i];
    };
    t.download(take, b.address(), n, granule, s, threads_, never_);
    EXPECT_TRUE(std::all_of(written.begin(), written.end(), [](const auto& times) { return times == 2; })) << granule;
  }
  EXPECT_THROW(t.upload(0, mib, 64 * kib + 1, [](std::size_t, std::size_t, void*) {}, s, threads_, never_), internal_error);
}

TEST_P(transfer_test, passes_on_what_fill_and_take_throw_and_works_afterwards) {
  transfer t(gpu(), {.piece = 16 * kib, .pieces = 2, .small = kib});
  const stream s(gpu());
  device_memory memory(gpu());
  const std::vector<unsigned char> bytes = random_bytes(mib, 1);
  const device_buffer b = memory.allocate(mib, s);
  for (const std::size_t at : {std::size_t{0}, std::size_t{300} * kib, mib - 1}) {
    const auto holds = [at](std::size_t first, std::size_t n) { return first <= at && at < first + n; };
    const auto fill = [&](std::size_t first, std::size_t n, void*) {
      if (holds(first, n)) throw std::domain_error("bad value");
    };
    const auto take = [&](std::size_t first, std::size_t n, const void*) {
      if (holds(first, n)) throw std::domain_error("bad value");
    };
    EXPECT_THROW(t.upload(b.address(), mib, 1, fill, s, threads_, never_), std::domain_error);
    EXPECT_THROW(t.download(take, b.address(), mib, 1, s, threads_, never_), std::domain_error);
    EXPECT_TRUE(there_and_back(t, bytes, s) == bytes);
  }
}

TEST_P(transfer_test, directions_at_the_same_time_keep_their_bytes_apart) {
  transfer t(gpu(), {.piece = 32 * kib, .pieces = 2, .small = kib});
  const stream up(gpu()), down(gpu());
  device_memory memory(gpu());
  const std::vector<unsigned char> bytes = random_bytes(2 * mib, 5);
  std::vector<unsigned char> back(2 * mib);
  const device_buffer to = memory.allocate(2 * mib, up), from = memory.allocate(2 * mib, down);
  set_bytes(from.address(), 6, 2 * mib, down);
  std::jthread other([&] { t.upload_plain(to.address(), bytes.data(), bytes.size(), up, threads_, never_); });
  t.download_plain(back.data(), from.address(), back.size(), down, threads_, never_);
  other.join();
  EXPECT_EQ(back, std::vector<unsigned char>(2 * mib, 6));
  EXPECT_TRUE(bytes_at(to.address(), bytes.size(), up) == bytes);
}

// While the device does nothing of the upload, the download ends: neither waits for the other.
TEST(transfer, directions_overlap_on_their_own_streams) {
  driver_double fake;
  const device d(fake.calls(), 0);
  transfer t(d, {.piece = 32 * kib, .pieces = 2, .small = kib});
  const stream up(d), down(d);
  device_memory memory(d);
  cpu::tbb_scheduler threads(4);
  const runtime::cancel_flag never;
  const std::vector<unsigned char> bytes = random_bytes(2 * mib, 5);
  std::vector<unsigned char> back(2 * mib), there(2 * mib);
  const device_buffer to = memory.allocate(2 * mib, up), from = memory.allocate(2 * mib, down);
  t.upload_plain(from.address(), bytes.data(), bytes.size(), down, threads, never);
  fake.hold(up.handle());
  std::atomic<bool> sent = false;
  std::jthread other([&] {
    t.upload_plain(to.address(), bytes.data(), bytes.size(), up, threads, never);
    sent = true;
  });
  const runtime::cancel_flag soon(std::chrono::steady_clock::now() + std::chrono::minutes(2));
  EXPECT_NO_THROW(t.download_plain(back.data(), from.address(), back.size(), down, threads, soon));
  EXPECT_FALSE(sent) << "of two pieces";
  fake.let_go();
  other.join();
  t.download_plain(there.data(), to.address(), there.size(), up, threads, never);
  EXPECT_TRUE(back == bytes);
  EXPECT_TRUE(there == bytes);
}

// The device does nothing: a transfer that waits for it must end when the query is cancelled, and the next must be right.
TEST(transfer, ends_when_cancelled_while_the_device_is_busy) {
  driver_double fake;
  const device d(fake.calls(), 0);
  transfer t(d, {.piece = 16 * kib, .pieces = 2, .small = kib});
  device_memory memory(d);
  const stream s(d), other(d);
  cpu::tbb_scheduler threads(4);
  const std::vector<unsigned char> bytes = random_bytes(mib, 1);
  std::vector<unsigned char> back(mib);
  const device_buffer b = memory.allocate(mib, s), c = memory.allocate(mib, other);
  fake.hold(s.handle());
  for (const std::size_t n : {std::size_t{1000}, mib}) {
    runtime::cancel_flag cancel(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
    EXPECT_THROW(t.download_plain(back.data(), b.address(), n, s, threads, cancel), cancelled);
  }
  runtime::cancel_flag cancel(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  EXPECT_THROW(t.upload_plain(b.address(), bytes.data(), mib, s, threads, cancel), cancelled);
  fake.let_go();
  const runtime::cancel_flag never;
  t.upload_plain(c.address(), bytes.data(), mib, other, threads, never);
  t.download_plain(back.data(), c.address(), mib, other, threads, never);
  EXPECT_TRUE(back == bytes);
}

TEST(transfer, is_content_with_fewer_staging_buffers_where_the_system_has_no_more) {
  driver_double fake;
  const device d(fake.calls(), 0);
  transfer t(d, {.piece = 16 * kib, .pieces = 4, .small = kib});
  device_memory memory(d);
  const stream s(d);
  cpu::tbb_scheduler threads(4);
  const runtime::cancel_flag never;
  const std::vector<unsigned char> bytes = random_bytes(mib, 1);
  std::vector<unsigned char> back(mib);
  const device_buffer b = memory.allocate(mib, s);
  fake.limit_pinned(40 * kib);  // two for the way up, none for the way down
  t.upload_plain(b.address(), bytes.data(), mib, s, threads, never);
  EXPECT_THROW(t.download_plain(back.data(), b.address(), mib, s, threads, never), resource_error);
  fake.limit_pinned(mib);
  t.download_plain(back.data(), b.address(), mib, s, threads, never);
  EXPECT_TRUE(back == bytes);
}

// Not a limit, only told: what pinned staging gains over the driver's own way with plain memory.
TEST_P(transfer_test, tells_its_speed) {
  if (fake()) GTEST_SKIP() << "SKIPPED: a driver double has no speed";
  cpu::tbb_scheduler all(0);
  transfer t(gpu());
  const stream s(gpu());
  device_memory memory(gpu());
  const std::size_t n = std::size_t{1} << 30;
  const device_buffer b = memory.allocate(n, s);
  std::vector<unsigned char> host(n, 1);
  const auto speed = [&](const char* what, auto move) {
    double best = 0;
    for (int i = 0; i < 4; ++i) {
      const auto start = std::chrono::steady_clock::now();
      move();
      s.synchronize(never_);
      best = std::max(best, static_cast<double>(n) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 1e9);
    }
    std::cout << what << ": " << best << " GB/s, " << all.concurrency() << " threads\n";
  };
  speed("upload", [&] { t.upload_plain(b.address(), host.data(), n, s, all, never_); });
  speed("download", [&] { t.download_plain(host.data(), b.address(), n, s, all, never_); });
  const scoped_context here(gpu());
  speed("driver's own upload", [&] { gpu().calls().cuMemcpyHtoDAsync(b.address(), host.data(), n, s.handle()); });
  speed("driver's own download", [&] { gpu().calls().cuMemcpyDtoHAsync(host.data(), b.address(), n, s.handle()); });
  const auto small_start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) t.download_plain(host.data(), b.address(), 8, s, all, never_);
  std::cout << "download of 8 bytes: "
            << std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - small_start).count() / 1000 << " us\n";
}

}  // namespace
}  // namespace query::gpu_engine
