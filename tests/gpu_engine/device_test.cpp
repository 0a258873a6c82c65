#include "gpu_engine/device.hpp"

#include <gtest/gtest.h>

#include <thread>

#include <query/errors.hpp>

#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/on_device.hpp"

namespace query::gpu_engine {
namespace {

class device_test : public on_device {};
QUERY_ON_DEVICES(device_test);

TEST_P(device_test, knows_what_the_gpu_is) {
  EXPECT_FALSE(gpu().name().empty());
  EXPECT_GE(gpu().compute_capability(), device::oldest_capability);
  EXPECT_GE(gpu().multiprocessors(), 1);
  EXPECT_GE(gpu().shared_memory_per_block(), 48u * 1024);
  EXPECT_GT(gpu().total_memory(), 0u);
  EXPECT_GT(gpu().l2_bytes(), 0u);
  EXPECT_LE(gpu().free_memory(), gpu().total_memory());
}

TEST(old_device_test, says_what_kernels_need) {
  driver_double fake;
  driver calls = fake.calls();
  calls.cuDeviceGetAttribute = [](int* value, int which, int) {
    *value = which == cuda_attribute::capability_major ? 7 : which == cuda_attribute::capability_minor ? 5 : 64;
    return cuda_result::success;
  };
  try {
    const device old(calls, 0);
    FAIL() << "a GPU of capability 7.5 was taken";
  } catch (const resource_error& e) {
    EXPECT_STREQ(e.what(), "driver double has compute capability 7.5, kernels need 8.0 or later");
  }
}

TEST_P(device_test, puts_the_context_back) {
  const driver& d = gpu().calls();
  context_handle before = nullptr, inside = nullptr, after = nullptr;
  d.cuCtxGetCurrent(&before);
  {
    const scoped_context outer(gpu());
    const scoped_context inner(gpu());
    d.cuCtxGetCurrent(&inside);
  }
  d.cuCtxGetCurrent(&after);
  EXPECT_EQ(inside, gpu().context());
  EXPECT_EQ(after, before);
}

TEST_P(device_test, a_stream_waits_for_an_event_of_another) {
  device_memory memory(gpu());
  const std::size_t n = std::size_t{1} << 20;
  for (int round = 0; round < 20; ++round) {
    const stream first(gpu()), second(gpu());
    const device_buffer b = memory.allocate(n, first);
    for (int i = 0; i < 8; ++i) set_bytes(b.address(), 1, n, first);
    event e(gpu());
    e.record(first);
    second.wait(e);
    set_bytes(b.address(), 2, n, second);
    EXPECT_EQ(bytes_at(b.address(), n, second), std::vector<unsigned char>(n, 2));
    EXPECT_TRUE(e.done());
  }
}

// As the memory pool uses its events: recorded anew on another stream while the first still has work, and a third waits for that.
TEST(device, an_event_recorded_again_belongs_to_its_last_stream) {
  driver_double fake;
  const device d(fake.calls(), 0);
  const stream first(d), second(d), third(d);
  event e(d);
  fake.hold(first.handle());
  e.record(first);
  third.wait(e);
  e.record(second);
  fake.run_all();
  EXPECT_TRUE(e.done());
  EXPECT_FALSE(third.done());  // still waits for the first stream
  third.wait(e);
  fake.let_go();
  fake.run_all();
  EXPECT_TRUE(e.done());
  EXPECT_TRUE(third.done());
}

TEST_P(device_test, an_event_that_was_never_recorded_is_done) { EXPECT_TRUE(event(gpu()).done()); }

TEST_P(device_test, events_measure_seconds) {
  const stream s(gpu());
  event from(gpu(), event::timing::on), to(gpu(), event::timing::on);
  from.record(s);
  to.record(s);
  to.wait(never_);
  EXPECT_GE(to.seconds_since(from), 0);
  EXPECT_LT(to.seconds_since(from), 1);
}

TEST_P(device_test, a_cancelled_wait_ends_after_the_device_has) {
  device_memory memory(gpu());
  const stream s(gpu());
  const std::size_t n = std::size_t{16} << 20;
  const device_buffer b = memory.allocate(n, s);
  for (int i = 0; i < 100; ++i) set_bytes(b.address(), 3, n, s);
  runtime::cancel_flag cancel;
  cancel.cancel();
  EXPECT_THROW(s.synchronize(cancel), cancelled);
  EXPECT_TRUE(s.done());
}

TEST_P(device_test, synchronize_of_an_idle_stream_still_says_that_the_query_is_cancelled) {
  runtime::cancel_flag cancel;
  cancel.cancel();
  EXPECT_THROW(stream(gpu()).synchronize(cancel), cancelled);
}

TEST_P(device_test, works_from_any_thread) {
  const stream s(gpu());
  device_memory memory(gpu());
  std::thread([&] {
    const device_buffer b = memory.allocate(1000, s);
    set_bytes(b.address(), 9, 1000, s);
    EXPECT_EQ(bytes_at(b.address(), 1000, s), std::vector<unsigned char>(1000, 9));
  }).join();
}

TEST(device, a_wait_for_an_event_ends_at_once_when_cancelled) {
  driver_double fake;
  const device d(fake.calls(), 0);
  const stream s(d);
  fake.hold(s.handle());
  event e(d);
  e.record(s);
  runtime::cancel_flag cancel;
  std::jthread later([&] { cancel.cancel(); });
  EXPECT_THROW(e.wait(cancel), cancelled);
  EXPECT_FALSE(e.done());
}

TEST(device, a_lost_device_is_a_resource_error) {
  driver_double fake;
  const device d(fake.calls(), 0);
  const stream s(d);
  fake.break_device(cuda_result::ecc_uncorrectable);
  EXPECT_THROW(s.synchronize(runtime::cancel_flag()), resource_error);
}

TEST(device, says_why_there_is_none) {
  if (device::first() == nullptr) {
    EXPECT_NE(device::why_not(), "");
    EXPECT_EQ(device::count(), 0);
  } else {
    EXPECT_EQ(device::why_not(), "");
    EXPECT_EQ(device::find(device::count()), nullptr);
    EXPECT_NE(device::why_not(device::count()).find("cannot be used"), std::string::npos);
  }
}

}  // namespace
}  // namespace query::gpu_engine
