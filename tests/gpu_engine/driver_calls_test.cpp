// What a query over rows that lie on the device asks the driver for, once its kernels are known: each call costs a microsecond or more
// of a query that may take fifty. On the driver double, whose kernels do nothing.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Item {
  std::int64_t key;
  double value;
};
QUERY_RECORD(Item, key, value);

enum call : std::size_t { fills, launches, up, down, inside, records, call_count };
std::array<std::atomic<int>, call_count> called;
driver real;

driver counting(const driver& of) {
  real = of;
  driver d = of;
  d.cuMemsetD8Async = [](device_address at, unsigned char value, std::size_t n, stream_handle s) {
    ++called[fills];
    return real.cuMemsetD8Async(at, value, n, s);
  };
  d.cuLaunchKernel = [](function_handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        stream_handle s, void** arguments, void** extra) {
    ++called[launches];
    return real.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, arguments, extra);
  };
  d.cuMemcpyHtoDAsync = [](device_address to, const void* from, std::size_t n, stream_handle s) {
    ++called[up];
    return real.cuMemcpyHtoDAsync(to, from, n, s);
  };
  d.cuMemcpyDtoHAsync = [](void* to, device_address from, std::size_t n, stream_handle s) {
    ++called[down];
    return real.cuMemcpyDtoHAsync(to, from, n, s);
  };
  d.cuMemcpyDtoDAsync = [](device_address to, device_address from, std::size_t n, stream_handle s) {
    ++called[inside];
    return real.cuMemcpyDtoDAsync(to, from, n, s);
  };
  d.cuEventRecord = [](event_handle e, stream_handle s) {
    ++called[records];
    return real.cuEventRecord(e, s);
  };
  return d;
}

class driver_calls : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    items_.resize(5000);
    session_.add_engine(make_engine(device_, {std::size_t{64} << 20, 0}, kernels_));
    rows_ = query::Query<Item>(query::from(items_).as_accelerated().in(session_).cached());
  }
  // Of the second run.
  template <class Run> std::array<int, call_count> of(Run run) {
    run(*rows_);
    for (auto& n : called) n = 0;
    run(*rows_);
    std::array<int, call_count> all;
    for (std::size_t i = 0; i < call_count; ++i) all[i] = called[i];
    return all;
  }

  std::vector<Item> items_;
  driver_double fake_;
  driver calls_ = counting(fake_.calls());
  device device_{calls_, 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  query::Session session_{query::session_options{.threads = 2, .gpu = query::gpu_use::off}};
  std::optional<query::Query<Item>> rows_;
};

// One fill for the status block and the kernel's counters, the kernel, and its results with the errors in one copy.
TEST_F(driver_calls, of_a_fold_are_few) {
  const auto calls = of([](const auto& q) { (void)q.where([](auto i) { return i.key >= 0; }).sum([](auto i) { return i.value; }); });
  EXPECT_EQ(calls[fills], 1);
  EXPECT_EQ(calls[launches], 1);
  EXPECT_EQ(calls[down], 1);
  EXPECT_EQ(calls[up], 0);
  EXPECT_EQ(calls[inside], 0);
  EXPECT_LE(calls[records], 3);  // behind the copy, and where memory is given back
}

TEST_F(driver_calls, of_rows_that_are_kept_are_one_fill_one_kernel_and_one_copy) {
  const auto calls = of([](const auto& q) { (void)q.where([](auto i) { return i.key >= 0; }).to_vector(); });  // none stays
  EXPECT_EQ(calls[fills], 1);
  EXPECT_EQ(calls[launches], 1);
  EXPECT_EQ(calls[down], 1);
  EXPECT_EQ(calls[up], 0);
  EXPECT_EQ(calls[inside], 0);
}

// No kernel, so no status block.
TEST_F(driver_calls, of_the_first_rows_are_copies_alone) {
  const auto calls = of([](const auto& q) { (void)q.take(1).to_vector(); });
  EXPECT_EQ(calls[fills], 0);
  EXPECT_EQ(calls[launches], 0);
  EXPECT_EQ(calls[up], 0);
  EXPECT_LE(calls[inside], 2);  // a column each
  EXPECT_LE(calls[down], 2);
}

// The first run of a key looks at a sample and waits for it; later ones over the same rows know how many groups there are.
TEST_F(driver_calls, of_groups_are_fewer_once_their_number_is_known) {
  std::int64_t modulus = 10;
  const auto group = [&](const auto& q) {
    (void)q.group_by([modulus](auto i) { return i.key % modulus; })
        .select([](auto g) { return std::pair(g.key(), g.sum([](auto i) { return i.value; })); })
        .to_vector();
  };
  const auto again = of(group);
  EXPECT_EQ(again[launches], 4);  // the table, the rows, what blocks found of them, the groups
  EXPECT_EQ(again[down], 1);
  EXPECT_EQ(again[up], 0);
  EXPECT_EQ(again[inside], 0);
  modulus = 7;  // other groups
  for (auto& n : called) n = 0;
  group(*rows_);
  EXPECT_EQ(called[launches], 5);
  EXPECT_EQ(called[down], 2);
  const auto as_before = of(group);
  EXPECT_EQ(as_before[launches], 4);
}

}  // namespace
