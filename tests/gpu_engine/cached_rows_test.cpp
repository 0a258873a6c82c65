// Rows of cached() that lie on a device, read by the CPU: they come over once, and what they cost is known. On the driver double.
#include <gtest/gtest.h>

#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/fixed_rates.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/placement/placement.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Reading {
  std::int64_t id;
  double value;
  bool operator==(const Reading&) const = default;
};
QUERY_RECORD(Reading, id, value);

class cached_on_device : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (int i = 0; i < 10'000; ++i) rows_.push_back({i, i * 0.5});
  }
  auto kept(query::Session& s, std::size_t min_rows = 0) {
    s.state()->take_gpu(make_engine(device_, {.memory = std::size_t{64} << 20, .min_rows = min_rows}, kernels_));
    return query::from(rows_).as_accelerated().in(s).cached().on(query::engine::gpu);
  }
  // What the CPU alone can do.
  template <class Q> static double opaque_sum(const Q& q) {
    return q.select(query::opaque([](const Reading& r) { return r.value; })).sum();
  }

  std::vector<Reading> rows_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
};

TEST_F(cached_on_device, come_to_the_host_once) {
  query::Session s({.threads = 2});
  const auto q = kept(s);
  const double sum = opaque_sum(q);
  EXPECT_EQ(sum, 0.5 * 9999 * 10000 / 2);
  const std::size_t down = fake_.bytes_down(), up = fake_.bytes_up();
  EXPECT_GE(down, rows_.size() * 16) << q.explain();
  EXPECT_EQ(opaque_sum(q), sum);
  EXPECT_TRUE(q.named("the same").to_vector() == rows_);
  EXPECT_EQ(fake_.bytes_down(), down) << "they lie here since";
  (void)q.select([](auto r) { return r.value; }).sum();
  EXPECT_LT(fake_.bytes_up() - up, 1000u) << "and on the device still";
}
TEST_F(cached_on_device, are_fetched_each_time_where_the_session_has_little_memory) {
  query::Session s({.threads = 2, .memory_limit = std::size_t{1} << 20});
  const auto q = kept(s);
  const auto held = query::from(rows_).in(s).select([](auto r) { return query::make<Reading>(r.id, r.value); });
  const auto a = held.cached(), b = held.named("b").cached(), c = held.named("c").cached(), d = held.named("d").cached();
  for (const auto& x : {a, b, c, d}) (void)x.to_vector();
  ASSERT_GT(s.memory_used(), s.memory_limit() / 2);
  (void)opaque_sum(q);
  const std::size_t down = fake_.bytes_down();
  (void)opaque_sum(q);
  EXPECT_GE(fake_.bytes_down() - down, rows_.size() * 16);
}
TEST_F(cached_on_device, cost_the_cpu_nothing_to_fetch_once_they_lie_here) {
  query::Session s({.threads = 2});
  const auto q = kept(s, 1);
  // A pass that is as cheap on the CPU as it may be: what it costs is to fetch the rows.
  placement_of(*s.state()->gpu()).by([] {
    rates r = fixed_rates();
    r.down = 1e6;
    return r;
  }());
  const auto sum = q.select([](auto r) { return r.value; });
  const auto says_of_cpu = [&] { return sum.explain("sum"); };
  const std::string before = says_of_cpu();
  (void)opaque_sum(q);
  EXPECT_NE(before, says_of_cpu());
  EXPECT_NE(says_of_cpu().find("sum: cpu"), std::string::npos) << says_of_cpu();
  EXPECT_NE(before.find("sum: gpu"), std::string::npos) << before;
}

}  // namespace
