#include "gpu_engine/reserved_room.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/on_device.hpp"

namespace query::gpu_engine {
namespace {

constexpr std::size_t kib = 1024;

class reserved_room_test : public on_device {};
QUERY_ON_DEVICES(reserved_room_test);

// The pool gives nothing any more.
TEST_P(reserved_room_test, gives_its_parts_again_and_again_where_the_pool_has_nothing_left) {
  device_memory memory(gpu());
  const stream s(gpu());
  {
    const reserved_room room(memory, 64 * kib, s);
    memory.fail_allocation(1, true);
    const std::size_t used = memory.counters().used;
    EXPECT_THROW((void)memory.allocate(kib, s), resource_error);
    const reserved_room::serving here(&room);
    for (int block = 0; block < 100; ++block) {
      std::vector<device_buffer> parts;
      for (const std::size_t n : {20 * kib, std::size_t{1}, 30 * kib, std::size_t{700}}) {
        parts.push_back(memory.allocate(n, s));
        EXPECT_EQ(parts.back().size(), n);
        EXPECT_EQ(parts.back().address() % 256, 0u);
        set_bytes(parts.back().address(), 1, n, s);
      }
      EXPECT_THROW((void)memory.allocate(20 * kib, s), resource_error);
      if (block % 2) std::swap(parts[0], parts[3]);
    }
    EXPECT_EQ(memory.counters().used, used);
    EXPECT_EQ(memory.allocate(64 * kib, s).size(), 64 * kib);  // all of it is one piece again
  }
  EXPECT_EQ(memory.counters().used, 0u);
  s.synchronize(never_);
}

TEST_P(reserved_room_test, serves_its_thread_and_pool_while_told_to) {
  device_memory memory(gpu()), other(gpu());
  const stream s(gpu());
  const reserved_room room(memory, 4 * kib, s);
  memory.fail_allocation(1, true);
  const auto gives = [&] {
    try {
      return memory.allocate(kib, s).size() == kib;
    } catch (const resource_error&) {
      return false;
    }
  };
  EXPECT_FALSE(gives());
  const reserved_room::serving here(&room);
  EXPECT_TRUE(gives());
  {
    const reserved_room::serving not_now(nullptr);
    EXPECT_FALSE(gives());
  }
  EXPECT_TRUE(gives());
  bool there = true;
  std::thread([&] { there = gives(); }).join();
  EXPECT_FALSE(there);
  const std::size_t before = other.counters().used;
  const device_buffer own = other.allocate(kib, s);
  EXPECT_GT(other.counters().used, before);
}

TEST_P(reserved_room_test, goes_back_when_the_last_part_of_it_has) {
  device_memory memory(gpu());
  const stream s(gpu());
  device_buffer part;
  {
    const reserved_room room(memory, 64 * kib, s);
    const reserved_room::serving here(&room);
    part = memory.allocate(kib, s);
  }
  EXPECT_GE(memory.counters().used, 64 * kib);
  part.reset();
  EXPECT_EQ(memory.counters().used, 0u);
  EXPECT_GE(memory.counters().cached, 64 * kib);
}

// What one stream wrote to a part stays until that stream has read it, whoever has the part next.
TEST_P(reserved_room_test, keeps_the_order_of_streams) {
  device_memory memory(gpu());
  const stream first(gpu()), second(gpu());
  const reserved_room room(memory, 32 * kib, first);
  const reserved_room::serving here(&room);
  std::vector<unsigned char> read(32 * kib);
  {
    const device_buffer part = memory.allocate(32 * kib, first);
    set_bytes(part.address(), 1, part.size(), first);
    const scoped_context current(gpu());
    QUERY_CUDA(gpu().calls(), cuMemcpyDtoHAsync, read.data(), part.address(), read.size(), first.handle());
  }
  const device_buffer part = memory.allocate(32 * kib, second);
  set_bytes(part.address(), 2, part.size(), second);
  EXPECT_EQ(bytes_at(part.address(), part.size(), second), std::vector<unsigned char>(32 * kib, 2));
  first.synchronize(never_);
  EXPECT_EQ(read, std::vector<unsigned char>(32 * kib, 1));
}

}  // namespace
}  // namespace query::gpu_engine
