// Breakers that do not run in blocks, over rows of eight times the device's budget: they are planned for the GPU, the CPU takes them, and
// explain() says why. On the driver double, whose kernels do nothing: no other vertex follows those that the CPU takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/larger_than_memory.hpp"
#include "planned_there.hpp"

namespace {

using namespace query::gpu_engine;
using larger_than_memory::Row;
using larger_than_memory::rows_of;

struct Middle {
  std::int64_t n;
  double median;
  bool operator==(const Middle&) const = default;
};
QUERY_RECORD(Middle, n, median);
struct Label {
  std::string text;
  std::int64_t value;
  bool operator==(const Label&) const = default;
};
QUERY_RECORD(Label, text, value);

class out_of_core_reasons : public testing::Test {
 protected:
  static constexpr std::size_t budget = std::size_t{2} << 20;

  void SetUp() override {
    fake_.allow_unknown_kernels();
    device_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
    engine_ = make_engine(*device_, {budget, 0}, *kernels_);
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->state()->take_gpu(engine_);
  }
  auto all() const { return query::from(rows_).as_accelerated(); }

  // Numbers, which come from joins in any order.
  template <class T> static std::vector<T> sorted(std::vector<T> rows) {
    if constexpr (std::is_arithmetic_v<T>) std::sort(rows.begin(), rows.end());
    return rows;
  }
  // Of 80 characters: eight times the budget, with what points at them.
  static std::vector<Label> long_labels() {
    std::vector<Label> all(8 * budget / (24 + 80));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = {std::to_string(larger_than_memory::mixed(i)), static_cast<std::int64_t>(i)};
      all[i].text.resize(80, 'x');
    }
    return all;
  }

  template <class Q> void goes_to_the_cpu(const char* what, const Q& q, const std::string& because) {
    SCOPED_TRACE(what);
    const auto there = q.in(*session_);
    EXPECT_TRUE(planned_there(there.explain()));
    std::remove_const_t<decltype(there.to_vector())> mine;
    ASSERT_NO_THROW(mine = there.to_vector());
    const std::string plan = there.explain(), mark = "the last run went to the cpu: gpu: memory: ";
    EXPECT_NE(plan.find(mark), std::string::npos) << plan;
    EXPECT_NE(plan.find(because), std::string::npos) << plan;
    EXPECT_TRUE(sorted(std::move(mine)) == sorted(q.in(cpu_).to_vector()));
    EXPECT_EQ(session_of(*engine_).memory().counters().used, 0u);
    EXPECT_LE(session_of(*engine_).memory().counters().peak, budget);
  }

  const std::vector<Row> rows_ = rows_of(static_cast<std::int64_t>(8 * budget / sizeof(Row)));
  driver_double fake_;
  std::optional<device> device_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  std::optional<query::Session> session_;
  query::Session cpu_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(out_of_core_reasons, partitions_want_all_rows_at_once) {
  const auto spread = [](auto r) { return r.spread; };
  const std::string lacks = "cannot allocate";
  goes_to_the_cpu("hash_partitioned_by", all().hash_partitioned_by(spread, 5), lacks);
  goes_to_the_cpu("range_partitioned_by", all().range_partitioned_by(spread, 5), lacks);
  goes_to_the_cpu("partitioned", all().where([](auto r) { return r.key != 5; }).partitioned(3), lacks);
}

TEST_F(out_of_core_reasons, sorted_blocks_of_strings_are_not_merged) {
  const std::vector<Label> labels = long_labels();
  goes_to_the_cpu("order_by strings", query::from(labels).as_accelerated().order_by([](auto l) { return l.text; }),
                  "results whose rows own memory are not put together from blocks");
}

// Joins that are vertices of their own run in one piece where their keys are made; others are parted (made_keys_in_blocks_test.cpp), but
// their results may own no memory.
TEST_F(out_of_core_reasons, joins_that_take_whole_inputs_are_not_parted_by_keys_that_are_made) {
  const std::vector<Label> labels = long_labels(), few(labels.begin(), labels.begin() + 30);
  const auto upper = [](auto l) { return query::to_upper(l.text); };
  const auto from = query::from(few).as_accelerated(), build = query::from(labels).as_accelerated();
  goes_to_the_cpu("right_join", build.right_join(build, upper, upper, [](auto a, auto b) {
    return b.value + query::iff(a.has_value(), a->value, std::int64_t{0});
  }),
                  "");
  goes_to_the_cpu("group_join", from.group_join(build, upper, upper, [](auto a, auto own) {
    return a.value + query::sum(own, [](auto b) { return b.value; });
  }),
                  "");
  goes_to_the_cpu("semi_join", from.semi_join(build, upper, upper), "");
  goes_to_the_cpu("anti_join", from.anti_join(build, upper, upper), "");
}

TEST_F(out_of_core_reasons, a_median_of_all_rows_wants_them_side_by_side) {
  const auto middle = [](auto g) { return query::make<Middle>(g.count(), g.median([](auto r) { return r.value; })); };
  goes_to_the_cpu("median", all().aggregate(middle), "of all rows wants rows side by side, which do not fit the device");
}

// Beside them: an aggregate of one's own has one state for all blocks, and stays.
TEST_F(out_of_core_reasons, an_aggregate_of_ones_own_stays) {
  const auto add = [](auto s, auto r) { return s + r.value; };
  const auto meet = [](auto a, auto b) { return a + b; };
  const auto q = all().aggregate([=](auto g) { return g.aggregate(std::int64_t{0}, add, meet); }).in(*session_);
  EXPECT_TRUE(planned_there(q.explain()));
  EXPECT_EQ(q.to_vector().size(), 1u);
  const std::string plan = q.explain();
  EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
  EXPECT_TRUE(std::regex_search(plan, std::regex("in the last run: [0-9]+ blocks of rows"))) << plan;
}

}  // namespace
