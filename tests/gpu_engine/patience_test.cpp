// Kernels whose compilation does not end: the CPU runs the query, and its plan says so; one that demands the GPU waits. On the driver
// double, whose compiler waits until the test lets it go on.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/faulty_device.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::all_operators;

class patience : public faulty_device {
 protected:
  void SetUp() override {
    faulty_device::SetUp();
    give_up();
    kernel_cache::settings s{.headers = {}, .options = {}, .folder = "", .compile = {}};
    s.patience = 0.01;
    s.compile = [told = told_](std::string_view source, int) {
      told.wait();
      return image_of(source);
    };
    kernels_.emplace(s);
    use();
  }
  void TearDown() override {
    go_on();
    faulty_device::TearDown();
  }
  void go_on() {
    if (!std::exchange(goes_on_, true)) go_on_.set_value();
  }
  auto trades() const { return query::from(data_.trades).as_accelerated().in(*session_); }

 private:
  std::promise<void> go_on_;
  const std::shared_future<void> told_ = go_on_.get_future().share();
  bool goes_on_ = false;
};
INSTANTIATE_TEST_SUITE_P(on, patience, testing::Values("double"), device_kind);

TEST_P(patience, ends_in_each_operator_and_the_cpu_gives_its_rows) {
  for (const operation& o : each_operator()) {
    SCOPED_TRACE(o.name);
    const digest wanted = o.rows_on(cpu_);
    EXPECT_EQ(o.rows(), wanted);
    const std::string plan = o.explain();
    EXPECT_NE(plan.find("the last run went to the cpu: "), std::string::npos) << plan;
    EXPECT_NE(plan.find("a kernel was still being compiled after"), std::string::npos) << plan;
  }
  EXPECT_EQ(kernels_->counters().compiled, 0u);
}

TEST_P(patience, has_no_end_where_the_gpu_is_demanded) {
  const auto q = trades().select([](auto t) { return t.id + 1; }).order();
  auto waits = std::async(std::launch::async, [q] { return q.require_gpu().to_vector().size(); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  go_on();
  EXPECT_NO_THROW(waits.get());
  EXPECT_GE(kernels_->counters().compiled, 1u);
}

}  // namespace
