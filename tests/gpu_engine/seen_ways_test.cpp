// Short queries that run again and again: where it was seen that the CPU alone is faster, or has all of it anyway, no engine is asked. The
// rule by itself, without clocks; and whole queries on the driver double.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/fixed_rates.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/placement/placement.hpp"
#include "runtime/seen_ways.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using query::runtime::expected_way;
using query::runtime::seen_ways;
using way = seen_ways::way;

constexpr std::uint64_t it = 7;
constexpr int tries = 4;  // of the CPU
const expected_way there{.elsewhere = true, .there = 1e-3, .cpu = 1.2e-3}, here{};

void runs(seen_ways& w, const expected_way& expected, double asked, double on_cpu, int times) {
  for (int i = 0; i < times; ++i) {
    const way by = w.choose(it).by;
    w.ran(it, by, expected, by == way::cpu ? on_cpu : asked);
  }
}

TEST(seen_ways, cpu_is_tried_where_expectations_are_close_and_kept_where_it_is_faster) {
  seen_ways w;
  runs(w, there, 1e-3, 0.7e-3, 2);
  for (int i = 0; i < tries; ++i) {
    EXPECT_EQ(w.choose(it).by, way::cpu);
    w.ran(it, way::cpu, {}, 0.7e-3);
  }
  EXPECT_EQ(w.choose(it).by, way::cpu);
  EXPECT_EQ(w.shown(it).why, "its runs took 700 us here, 1.0 ms there");
}
TEST(seen_ways, what_was_chosen_stays_where_the_cpu_was_slower) {
  seen_ways w;
  runs(w, there, 1e-3, 1.6e-3, 2 + tries);
  EXPECT_EQ(w.choose(it).by, way::asked);
  EXPECT_EQ(w.shown(it).by, way::asked);
}
TEST(seen_ways, tries_end_where_they_fail) {
  seen_ways w;
  runs(w, there, 1e-3, 0, 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(w.choose(it).by, way::cpu);  // stopped, or out of memory
  EXPECT_EQ(w.choose(it).by, way::asked);
}
TEST(seen_ways, tries_end_early_where_the_cpu_is_far_slower) {
  seen_ways w;
  runs(w, there, 1e-3, 2.5e-3, 2 + 2);
  EXPECT_EQ(w.choose(it).by, way::asked);
}
TEST(seen_ways, more_tries_follow_where_the_first_say_little) {
  seen_ways close, in_the_end_faster;
  runs(close, there, 1e-3, 1.1e-3, 2 + tries);
  EXPECT_EQ(close.choose(it).by, way::cpu);
  runs(close, there, 1e-3, 1.1e-3, 2 * tries);
  EXPECT_EQ(close.choose(it).by, way::asked) << "not for ever";
  runs(in_the_end_faster, there, 1e-3, 1.1e-3, 2 + tries);
  runs(in_the_end_faster, there, 1e-3, 0.9e-3, 3 * tries);
  EXPECT_EQ(in_the_end_faster.choose(it).by, way::cpu);
}
TEST(seen_ways, cpu_is_tried_where_what_ran_elsewhere_took_far_longer_than_expected) {
  const expected_way too_short{.elsewhere = true, .there = 0.05e-3, .cpu = 0.65e-3};
  seen_ways as_expected, longer;
  runs(as_expected, too_short, 0.1e-3, 0, 2);
  EXPECT_EQ(as_expected.choose(it).by, way::asked);
  runs(longer, too_short, 0.3e-3, 0, 2);
  EXPECT_EQ(longer.choose(it).by, way::cpu);
}
TEST(seen_ways, cpu_is_not_tried_where_it_is_expected_to_be_far_slower_or_long_or_where_nothing_was_weighed) {
  const expected_way far{.elsewhere = true, .there = 1e-3, .cpu = 3e-3}, long_one{.elsewhere = true, .there = 0.03, .cpu = 0.031},
      demanded{.elsewhere = true, .weighed = false};
  for (const auto& [expected, seconds] : {std::pair(far, 1e-3), std::pair(long_one, 0.03), std::pair(demanded, 1e-3)}) {
    seen_ways w;
    runs(w, expected, seconds, 0, 5);
    EXPECT_EQ(w.choose(it).by, way::asked);
  }
}
TEST(seen_ways, what_stays_on_the_cpu_is_not_asked_about_each_time) {
  seen_ways w;
  runs(w, here, 1e-4, 1e-4, 2);
  EXPECT_EQ(w.choose(it).by, way::cpu);
  EXPECT_EQ(w.shown(it).by, way::asked) << "explain() asks";
  seen_ways long_ones, waits_for_kernels;
  runs(long_ones, here, 1e-2, 1e-2, 2);
  EXPECT_EQ(long_ones.choose(it).by, way::asked) << "asking costs nothing beside them";
  runs(waits_for_kernels, {.may_save = 1e-3}, 1e-4, 1e-4, 2);
  EXPECT_EQ(waits_for_kernels.choose(it).by, way::asked);
  seen_ways waits_for_little;
  runs(waits_for_little, {.may_save = 1e-5}, 1e-4, 1e-4, 2);
  EXPECT_EQ(waits_for_little.choose(it).by, way::cpu) << "asking costs more";
}
TEST(seen_ways, all_is_asked_again_after_many_runs_and_ever_more_seldom) {
  seen_ways w;
  const auto until_asked = [&] {
    runs(w, here, 1e-4, 1e-4, 2);
    int n = 0;
    for (; w.choose(it).by == way::cpu; ++n) w.ran(it, way::cpu, {}, 1e-4);
    return n;
  };
  const int first = until_asked(), second = until_asked();
  EXPECT_GT(first, seen_ways::runs_until_asked_again / 2);
  EXPECT_LE(first, seen_ways::runs_until_asked_again);
  EXPECT_GT(second, first);
}
TEST(seen_ways, what_takes_far_longer_than_before_is_asked_at_once) {
  seen_ways w;
  runs(w, here, 1e-4, 1e-4, 3);
  ASSERT_EQ(w.choose(it).by, way::cpu);
  w.ran(it, way::cpu, {}, 5e-2);
  EXPECT_EQ(w.choose(it).by, way::asked);
}

struct Sale {
  std::int64_t id;
  std::int32_t shop;
  double price;
};
QUERY_RECORD(Sale, id, shop, price);

class queries_seen : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (int i = 0; i < 6000; ++i) sales_.push_back({i, i % 7, i * 0.5});
    state().take_gpu(make_engine(device_, {std::size_t{64} << 20, 0}, kernels_));
  }
  query::runtime::session_state& state() { return *session_.state(); }
  auto sales() { return query::from(sales_).as_accelerated().in(session_); }
  template <class Q> std::optional<std::uint64_t> name_of(const Q& q) { return query::runtime::recognised(q.to_pipe(), {}, state()); }

  std::vector<Sale> sales_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  query::Session session_{{.threads = 2}};
};

const auto price = [](auto s) { return s.price; };

TEST_F(queries_seen, have_names_by_functions_and_rows) {
  const auto dear = [this](double least) { return sales().where([least](auto s) { return s.price > least; }); };
  ASSERT_TRUE(name_of(dear(1)));
  EXPECT_EQ(name_of(dear(1)), name_of(dear(2))) << "what functions capture is not part of it";
  EXPECT_NE(name_of(dear(1)), name_of(dear(1).select(price)));
  EXPECT_NE(name_of(dear(1).take(5)), name_of(dear(1).take(6)));
  const auto before = name_of(dear(1));
  const std::vector<Sale> others = sales_;
  EXPECT_NE(before, name_of(query::from(others).as_accelerated().in(session_).where([](auto s) { return s.price > 1; })));
  sales_.pop_back();
  EXPECT_NE(before, name_of(dear(1)));
}
TEST_F(queries_seen, have_none_where_their_rows_or_their_places_are_not_theirs_to_say) {
  int drawn = 0;
  const auto made = query::generate([&] { return std::optional(drawn++); }).take(10).as_accelerated();
  EXPECT_FALSE(name_of(made));
  EXPECT_FALSE(name_of(sales().select(price).on(query::engine::cpu)));
  EXPECT_FALSE(name_of(sales().select(price).require_gpu()));
  const auto cached = sales().cached();
  EXPECT_FALSE(name_of(cached.select(price)));
  (void)cached.count();
  EXPECT_TRUE(name_of(cached.select(price)));
}
TEST_F(queries_seen, explain_says_why_the_cpu_has_it) {
  placement_of(*state().gpu()).by(fixed_rates());
  const auto q = sales().where([](auto s) { return s.price > 10; }).select(price);
  const auto name = *name_of(q);
  for (int i = 0; i < 2; ++i) state().ways.ran(name, way::asked, {.elsewhere = true, .there = 1e-3, .cpu = 1e-3}, 1e-3);
  EXPECT_NE(q.explain().find("tried, as 1.0 ms were expected there, 1.0 ms here"), std::string::npos) << q.explain();
  for (int i = 0; i < tries; ++i) {
    EXPECT_EQ(state().ways.choose(name).by, way::cpu);
    state().ways.ran(name, way::cpu, {}, 1e-4);
  }
  EXPECT_NE(q.explain().find("not on gpu: its runs took 100 us here, 1.0 ms there"), std::string::npos) << q.explain();
  const std::size_t launches = fake_.launches_on(0);
  EXPECT_EQ(q.to_vector().size(), 5979u);
  EXPECT_EQ(fake_.launches_on(0), launches) << "it ran here";
}
TEST_F(queries_seen, rows_that_stay_here_are_not_asked_about) {
  placement_of(*state().gpu()).by(fixed_rates());
  const auto q = sales().where([](auto s) { return s.price > 10; }).select(price);
  for (int i = 0; i < 2; ++i) state().ways.ran(*name_of(q), way::asked, here, 1e-5);
  EXPECT_EQ(q.to_vector().size(), 5979u);
  EXPECT_EQ(fake_.launches_on(0), 0u);
}

}  // namespace
