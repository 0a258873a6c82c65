// Short queries that run again and again: where it was seen that the CPU alone is faster, or has all of it anyway, no engine is asked. The
// rule by itself, without clocks; and whole queries on the driver double.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/fixed_rates.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "runtime/engine_choices.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using query::runtime::expected_way;
using query::runtime::engine_choices;
using way = engine_choices::way;

constexpr std::uint64_t it = 7;
constexpr int tries = 4;  // of the CPU
const expected_way there{.elsewhere = true, .there = 1e-3, .cpu = 1.2e-3}, here{};

void runs(engine_choices& w, const expected_way& expected, double asked, double on_cpu, int times) {
  for (int i = 0; i < times; ++i) {
    const way by = w.choose(it).by;
    w.ran(it, by, expected, by == way::cpu ? on_cpu : asked);
  }
}

TEST(engine_choices, cpu_is_tried_where_expectations_are_close_and_kept_where_it_is_faster) {
  engine_choices w;
  runs(w, there, 1e-3, 0.7e-3, 2);
  for (int i = 0; i < tries; ++i) {
    EXPECT_EQ(w.choose(it).by, way::cpu);
    w.ran(it, way::cpu, {}, 0.7e-3);
  }
  EXPECT_EQ(w.choose(it).by, way::cpu);
  EXPECT_EQ(w.shown(it).why, "its runs took 700 us here, 1.0 ms there");
}
TEST(engine_choices, what_was_chosen_stays_where_the_cpu_was_slower) {
  engine_choices w;
  runs(w, there, 1e-3, 1.6e-3, 2 + tries);
  EXPECT_EQ(w.choose(it).by, way::asked);
  EXPECT_EQ(w.shown(it).by, way::asked);
}
TEST(engine_choices, tries_end_where_they_fail) {
  engine_choices w;
  runs(w, there, 1e-3, 0, 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(w.choose(it).by, way::cpu);  // stopped, or out of memory
  EXPECT_EQ(w.choose(it).by, way::asked);
}
TEST(engine_choices, tries_end_early_where_the_cpu_is_far_slower) {
  engine_choices w;
  runs(w, there, 1e-3, 2.5e-3, 2 + 2);
  EXPECT_EQ(w.choose(it).by, way::asked);
}
TEST(engine_choices, more_tries_follow_where_the_first_say_little) {
  engine_choices close, in_the_end_faster;
  runs(close, there, 1e-3, 1.1e-3, 2 + tries);
  EXPECT_EQ(close.choose(it).by, way::cpu);
  runs(close, there, 1e-3, 1.1e-3, 2 * tries);
  EXPECT_EQ(close.choose(it).by, way::asked) << "not for ever";
  runs(in_the_end_faster, there, 1e-3, 1.1e-3, 2 + tries);
  runs(in_the_end_faster, there, 1e-3, 0.9e-3, 3 * tries);
  EXPECT_EQ(in_the_end_faster.choose(it).by, way::cpu);
}
TEST(engine_choices, cpu_is_tried_where_what_ran_elsewhere_took_far_longer_than_expected) {
  const expected_way too_short{.elsewhere = true, .there = 0.05e-3, .cpu = 0.65e-3};
  engine_choices as_expected, longer;
  runs(as_expected, too_short, 0.1e-3, 0, 2);
  EXPECT_EQ(as_expected.choose(it).by, way::asked);
  runs(longer, too_short, 0.3e-3, 0, 2);
  EXPECT_EQ(longer.choose(it).by, way::cpu);
}
TEST(engine_choices, cpu_is_not_tried_where_it_is_expected_to_be_far_slower_or_long_or_where_nothing_was_weighed) {
  const expected_way far{.elsewhere = true, .there = 1e-3, .cpu = 3e-3}, long_one{.elsewhere = true, .there = 0.03, .cpu = 0.031},
      demanded{.elsewhere = true, .weighed = false};
  for (const auto& [expected, seconds] : {std::pair(far, 1e-3), std::pair(long_one, 0.03), std::pair(demanded, 1e-3)}) {
    engine_choices w;
    runs(w, expected, seconds, 0, 5);
    EXPECT_EQ(w.choose(it).by, way::asked);
  }
}
TEST(engine_choices, what_stays_on_the_cpu_is_not_asked_about_each_time) {
  engine_choices w;
  runs(w, here, 1e-4, 1e-4, 2);
  EXPECT_EQ(w.choose(it).by, way::cpu);
  EXPECT_EQ(w.shown(it).by, way::asked) << "explain() asks";
  engine_choices long_ones, waits_for_kernels;
  runs(long_ones, here, 1e-2, 1e-2, 2);
  EXPECT_EQ(long_ones.choose(it).by, way::asked) << "asking costs nothing beside them";
  runs(waits_for_kernels, {.may_save = 1e-3}, 1e-4, 1e-4, 2);
  EXPECT_EQ(waits_for_kernels.choose(it).by, way::asked);
  engine_choices waits_for_little;
  runs(waits_for_little, {.may_save = 1e-5}, 1e-4, 1e-4, 2);
  EXPECT_EQ(waits_for_little.choose(it).by, way::cpu) << "asking costs more";
}
TEST(engine_choices, what_the_gpu_has_is_not_asked_about_each_time) {
  const expected_way all_there{.elsewhere = true, .all_on_gpu = true, .there = 1e-3, .cpu = 1e-1},
      demanded{.elsewhere = true, .all_on_gpu = true, .weighed = false}, in_part{.elsewhere = true, .there = 1e-3, .cpu = 1e-1};
  for (const expected_way& expected : {all_there, demanded}) {
    engine_choices w;
    runs(w, expected, 1e-3, 0, 2);
    int n = 0;
    for (; w.choose(it).by == way::gpu; ++n) w.ran(it, way::gpu, {}, 1e-3);
    EXPECT_GT(n, engine_choices::runs_until_asked_again / 2);
    EXPECT_LE(n, engine_choices::runs_until_asked_again);
    EXPECT_EQ(w.shown(it).by, way::asked) << "explain() asks";
  }
  engine_choices parted, once, long_ones;
  runs(parted, in_part, 1e-3, 0, 5);
  EXPECT_EQ(parted.choose(it).by, way::asked) << "divided, or the CPU has some of it";
  runs(once, in_part, 1e-3, 0, 2);
  runs(once, all_there, 1e-3, 0, 1);
  EXPECT_EQ(once.choose(it).by, way::asked) << "not twice yet";
  runs(long_ones, all_there, 5e-2, 0, 5);
  EXPECT_EQ(long_ones.choose(it).by, way::asked) << "asking costs nothing beside them";
}
TEST(engine_choices, cpu_has_to_beat_the_gpu_that_is_not_asked) {
  const expected_way close{.elsewhere = true, .all_on_gpu = true, .there = 1e-3, .cpu = 1.2e-3};
  engine_choices w;
  const auto run_all = [&](int times, double asked, double on_gpu, double on_cpu) {
    for (int i = 0; i < times; ++i) {
      const way by = w.choose(it).by;
      w.ran(it, by, close, by == way::cpu ? on_cpu : by == way::gpu ? on_gpu : asked);
    }
  };
  run_all(2 + 2, 1e-3, 0.8e-3, 0.9e-3);
  EXPECT_EQ(w.shown(it).by, way::cpu) << "it is tried now";
  run_all(1, 1e-3, 0.8e-3, 0.9e-3);
  EXPECT_EQ(w.shown(it).by, way::asked) << "the GPU again: each has its turn";
  run_all(30, 1e-3, 0.8e-3, 0.9e-3);
  EXPECT_EQ(w.choose(it).by, way::gpu) << "0.9 ms are less than 1 ms, but not than 0.8";
}
TEST(engine_choices, what_takes_far_longer_on_the_gpu_than_before_twice_is_asked_at_once) {
  engine_choices w;
  runs(w, {.elsewhere = true, .all_on_gpu = true, .weighed = false}, 1e-3, 0, 3);
  for (const double seconds : {5e-2, 1e-3, 5e-2, 5e-2}) {
    ASSERT_EQ(w.choose(it).by, way::gpu) << "once may be others' work";
    w.ran(it, way::gpu, {}, seconds);
  }
  EXPECT_EQ(w.choose(it).by, way::asked);
}
TEST(engine_choices, all_is_asked_again_after_many_runs_and_ever_more_seldom) {
  engine_choices w;
  const auto until_asked = [&] {
    runs(w, here, 1e-4, 1e-4, 2);
    int n = 0;
    for (; w.choose(it).by == way::cpu; ++n) w.ran(it, way::cpu, {}, 1e-4);
    return n;
  };
  const int first = until_asked(), second = until_asked();
  EXPECT_GT(first, engine_choices::runs_until_asked_again / 2);
  EXPECT_LE(first, engine_choices::runs_until_asked_again);
  EXPECT_GT(second, first);
}
TEST(engine_choices, what_takes_far_longer_than_before_twice_is_asked_at_once) {
  engine_choices w;
  runs(w, here, 1e-4, 1e-4, 3);
  for (const double seconds : {5e-2, 1e-4, 5e-2, 5e-2}) {
    ASSERT_EQ(w.choose(it).by, way::cpu) << "once may be others' work";
    w.ran(it, way::cpu, {}, seconds);
  }
  EXPECT_EQ(w.choose(it).by, way::asked);
}

// Counts what it is asked.
class counting_engine final : public query::runtime::engine {
 public:
  explicit counting_engine(std::shared_ptr<query::runtime::engine> of) : of_(std::move(of)) {}
  mutable int asked = 0;
  bool fails = false;

  std::string_view name() const override { return of_->name(); }
  bool is_gpu() const override { return of_->is_gpu(); }
  query::runtime::verdict accepts(const query::planner::vertex& v) const override {
    ++asked;
    return of_->accepts(v);
  }
  void takes_again(const query::planner::vertex& v) override { of_->takes_again(v); }
  std::unique_ptr<query::runtime::running_vertex> start(const query::planner::vertex& v,
                                                        std::span<query::runtime::input_port* const> inputs,
                                                        query::runtime::output_port& output, query::runtime::run_context& c) override {
    if (fails) throw query::resource_error("out of order");
    return of_->start(v, inputs, output, c);
  }
  int retries() const override { return of_->retries(); }

 private:
  std::shared_ptr<query::runtime::engine> of_;
};

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
  expect_rates(fixed_rates(), *state().gpu(), session_);
  const auto q = sales().where([](auto s) { return s.price > 10; }).select(price);
  const auto name = *name_of(q);
  for (int i = 0; i < 2; ++i) state().history.ways.ran(name, way::asked, {.elsewhere = true, .there = 1e-3, .cpu = 1e-3}, 1e-3);
  EXPECT_NE(q.explain().find("tried, as 1.0 ms were expected there, 1.0 ms here"), std::string::npos) << q.explain();
  for (int i = 0; i < tries; ++i) {
    EXPECT_EQ(state().history.ways.choose(name).by, way::cpu);
    state().history.ways.ran(name, way::cpu, {}, 1e-4);
  }
  EXPECT_NE(q.explain().find("not on gpu: its runs took 100 us here, 1.0 ms there"), std::string::npos) << q.explain();
  const std::size_t launches = fake_.launches_on(0);
  EXPECT_EQ(q.to_vector().size(), 5979u);
  EXPECT_EQ(fake_.launches_on(0), launches) << "it ran here";
}
TEST_F(queries_seen, rows_that_stay_here_are_not_asked_about) {
  expect_rates(fixed_rates(), *state().gpu(), session_);
  const auto q = sales().where([](auto s) { return s.price > 10; }).select(price);
  for (int i = 0; i < 2; ++i) state().history.ways.ran(*name_of(q), way::asked, here, 1e-5);
  EXPECT_EQ(q.to_vector().size(), 5979u);
  EXPECT_EQ(fake_.launches_on(0), 0u);
}

class queries_that_the_gpu_has : public queries_seen {
 protected:
  void SetUp() override {
    queries_seen::SetUp();
    counting_ = std::make_shared<counting_engine>(make_engine(device_, {std::size_t{64} << 20, 0}, kernels_));
    counted_.state()->take_gpu(counting_);
  }
  auto there() { return query::from(sales_).as_accelerated().in(counted_); }
  // The kernels of the first run that was not asked about: the third, where the machine is as fast as it should be. Nothing: all were.
  template <class Run> std::optional<std::size_t> kernels_unasked(const Run& run, int most = 200) {
    for (int i = 0; i < most; ++i) {
      const int asked = counting_->asked;
      const std::size_t launches = fake_.launches_on(0);
      run();
      if (counting_->asked == asked) return fake_.launches_on(0) - launches;
    }
    return std::nullopt;
  }
  template <class Run> bool always_asked(const Run& run) { return !kernels_unasked(run, 5); }

  std::shared_ptr<counting_engine> counting_;
  query::Session counted_{{.threads = 2}};
};

const auto dear = [](auto s) { return s.price > 10; };

TEST_F(queries_that_the_gpu_has, are_not_asked_about_again) {
  const auto expect_unasked = [&](const char* what, const auto& run) {
    EXPECT_GT(kernels_unasked(run).value_or(0), 0u) << what;
  };
  expect_unasked("a fold", [&] { (void)there().where(dear).select(price).sum(); });
  expect_unasked("rows", [&] { (void)there().where(dear).select(price).to_vector(); });
  expect_unasked("a verb and a fold", [&] { (void)there().order_by(price).select(price).sum(); });
  expect_unasked("how many rows a verb gives", [&] { (void)there().distinct_by([](auto s) { return s.shop; }).count(); });
  const auto cached = there().cached();
  (void)cached.count();
  expect_unasked("rows that are kept there", [&] { (void)cached.where(dear).select(price).sum(); });
  const std::vector<Sale> others(sales_.begin(), sales_.begin() + 100);
  const auto id = [](auto s) { return s.id; };
  expect_unasked("beside rows that are accelerated, too", [&] {
    (void)there().join(query::from(others).as_accelerated(), id, id, [](auto a, auto b) { return a.price - b.price; }).sum();
  });
  expect_unasked("beside rows that are not accelerated", [&] {
    (void)there().join(query::from(others), id, id, [](auto a, auto b) { return a.price + b.price; }).sum();
  });
}
TEST_F(queries_that_the_gpu_has, in_part_are_asked_about_each_time) {
  const auto opaque = [](const Sale& s) { return s.id % 3 != 0; };
  EXPECT_TRUE(always_asked([&] { (void)there().distinct_by(price).where(opaque).to_vector(); })) << "the CPU filters what the GPU gives";
  EXPECT_TRUE(always_asked([&] { (void)there().where(opaque).order_by(price).to_vector(); })) << "the CPU's part is cut off";
  const auto kept = query::from(sales_).in(counted_).where(opaque).as_accelerated();
  EXPECT_TRUE(always_asked([&] { (void)kept.order_by(price).to_vector(); })) << "so is what is not accelerated";
}
TEST_F(queries_that_the_gpu_has, are_asked_about_where_a_captured_value_changes_more_than_literals) {
  // As many branches as captured: sixty are too many to follow.
  const auto steps = [&](int n) {
    return there().select([n](auto s) {
      std::int64_t passed = 0;
      for (int i = 0; i < n; ++i)
        if (s.price > 40.0 * i) ++passed;
      return s.id * 0 + passed;
    });
  };
  ASSERT_TRUE(kernels_unasked([&] { (void)steps(1).to_vector(); }));
  const int asked = counting_->asked;
  const std::vector<std::int64_t> many = steps(60).to_vector();
  EXPECT_GT(counting_->asked, asked);
  ASSERT_EQ(many.size(), sales_.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    std::int64_t passed = 0;
    for (int k = 0; k < 60; ++k) passed += sales_[i].price > 40.0 * k;
    ASSERT_EQ(many[i], passed) << i;
  }
  const auto dearer = [&](double than) { (void)there().where([than](auto s) { return s.price > than; }).select(price).to_vector(); };
  double than = 1;
  EXPECT_TRUE(kernels_unasked([&] { dearer(than++); })) << "a literal";
  const auto remainders = [&](std::int64_t of) { (void)there().select([of](auto s) { return s.id % of; }).to_vector(); };
  EXPECT_TRUE(kernels_unasked([&] { remainders(7); }));
  const int before = counting_->asked;
  remainders(11);
  EXPECT_GT(counting_->asked, before) << "divisors are part of the kernel";
}
TEST_F(queries_that_the_gpu_has, are_asked_about_after_a_run_that_the_cpu_took_over) {
  const auto q = there().where(dear).select(price);
  ASSERT_TRUE(kernels_unasked([&] { (void)q.to_vector(); }));
  counting_->fails = true;
  EXPECT_EQ(q.to_vector().size(), 5979u) << "on the CPU";
  const int asked = counting_->asked;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(q.to_vector().size(), 5979u);
    EXPECT_EQ(counting_->asked, asked + i + 1);
  }
}

}  // namespace
