// On a GPU: accelerated queries in vertices of a dataflow of one's own. What goes through an edge is a cached query, whose rows
// stay on the device; the device's memory serves one part of the data after another.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <query/dataflow.hpp>
#include <query/query.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"

namespace {

using namespace query::gpu_engine;
namespace flow = query::dataflow;

struct Sample {
  std::int32_t sensor;
  std::int64_t value;
};
QUERY_RECORD(Sample, sensor, value);

std::atomic<std::size_t> fetched_bytes = 0, sent_bytes = 0;
const driver* real = nullptr;

const driver& counting_driver() {
  static const driver counting = [] {
    driver d = *real;
    d.cuMemcpyHtoDAsync = [](device_address to, const void* from, std::size_t n, stream_handle s) {
      sent_bytes += n;
      return real->cuMemcpyHtoDAsync(to, from, n, s);
    };
    d.cuMemcpyDtoHAsync = [](void* to, device_address from, std::size_t n, stream_handle s) {
      fetched_bytes += n;
      return real->cuMemcpyDtoHAsync(to, from, n, s);
    };
    return d;
  }();
  return counting;
}

class gpu_dataflow : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 100'000;  // of a part
  static constexpr std::int32_t sensors = 16;

  void SetUp() override {
    real = driver::find();
    if (!real || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << (real ? compiler::why_not() : driver::why_not());
    on_.emplace(counting_driver(), 0);
    kernels_.emplace(kernel_cache::settings{.headers = embedded_sources(), .options = {}, .folder = {}, .compile = {}});
    engine_ = make_engine(*on_, {std::size_t{1} << 28, 0}, *kernels_);
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->add_engine(engine_);
  }

  // Parts go to the device in one vertex and are summed by sensor in another; gives each part's sum.
  std::vector<std::int64_t> sums_of(int parts) {
    flow::graph g;
    const auto ready = g.edge_of<query::Query<Sample>>("parts on the device", 2);
    std::vector<std::int64_t> sums;
    const auto by_sensor = [](const query::Query<Sample>& q) {
      return q.group_by([](auto s) { return s.sensor; }).select([](auto g) { return g.sum([](auto s) { return s.value; }); });
    };
    g.vertex("upload", [&](flow::output<query::Query<Sample>>& out) {
      for (int part = 0; part < parts; ++part) {
        std::vector<Sample> all;
        for (std::int64_t i = 0; i < rows; ++i) all.push_back({static_cast<std::int32_t>(i % sensors), i + part});
        const auto here = query::from(std::move(all)).as_accelerated().in(*session_);
        query::Query<Sample> q = here.where([](auto s) { return s.value % 2 == 0; }).cached();
        EXPECT_EQ(by_sensor(q).to_vector().size(), static_cast<std::size_t>(sensors / 2));
        out.push(std::vector{std::move(q)});
      }
    }, flow::writes(ready));
    g.vertex("sum", [&](flow::input<query::Query<Sample>>& in) {
      while (const auto q = in.row()) {
        std::int64_t sum = 0;
        for (const std::int64_t s : by_sensor(*q).to_vector()) sum += s;
        sums.push_back(sum);
      }
    }, flow::reads(ready));
    g.timeout(60).run();
    return sums;
  }

  std::optional<device> on_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  std::optional<query::Session> session_;
};

TEST_F(gpu_dataflow, hands_rows_on_that_stay_on_the_device) {
  constexpr int parts = 6;
  const std::vector<std::int64_t> sums = sums_of(parts);
  ASSERT_EQ(sums.size(), static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part) {
    std::int64_t wanted = 0;
    for (std::int64_t v = part; v < rows + part; ++v) wanted += v % 2 == 0 ? v : 0;
    EXPECT_EQ(sums[static_cast<std::size_t>(part)], wanted) << part;
  }
  sent_bytes = fetched_bytes = 0;
  (void)sums_of(parts);
  EXPECT_LE(sent_bytes, parts * rows * sizeof(Sample) + parts * 1024u) << "each part goes there once";
  EXPECT_LE(fetched_bytes, parts * 16u * 1024u) << "groups come back, not rows";
}

TEST_F(gpu_dataflow, asks_the_driver_for_no_memory_in_steady_state) {
  (void)sums_of(10);
  const device_memory_counters before = session_of(*engine_).memory().counters();
  (void)sums_of(40);
  const device_memory_counters after = session_of(*engine_).memory().counters();
  EXPECT_GE(after.allocations, before.allocations + 40 * 4);
  EXPECT_LE(after.driver_allocations, before.driver_allocations + 8) << "vertices overlap by chance: a few more may be out at once";
  EXPECT_LE(after.peak, before.peak + (std::size_t{8} << 20)) << "parts that were summed are given back";
}

}  // namespace
