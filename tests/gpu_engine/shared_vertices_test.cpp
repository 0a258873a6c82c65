// Vertices that several devices share, on the driver double with 1, 2 and 4 devices: who gets which rows, where contexts are
// current, what crosses from device to device, what happens when a device fails. Its kernels do nothing: results are right where
// no kernel makes them, and where the CPU took over. several_gpus_test.cpp has the real devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/costs/rates.hpp"
#include "gpu_engine/several/peer_copy.hpp"
#include "gpu_engine/several/shares.hpp"
#include "gpu_engine/upload.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Row {
  std::int64_t id;
  std::int32_t key;
  double value;
  bool operator==(const Row&) const = default;
};
QUERY_RECORD(Row, id, key, value);

class shared_vertices : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (int i = 0; i < 4; ++i) devices_.push_back(std::make_unique<device>(fake_.calls(), i));
    for (int i = 0; i < 10'001; ++i) rows_.push_back({i, i % 7, i * 0.5});
  }
  void use(std::size_t devices, std::size_t block_rows = 1000) {
    std::vector<const device*> some;
    for (std::size_t i = 0; i < devices; ++i) some.push_back(devices_[i].get());
    engine_ = make_engine(some, {.memory = std::size_t{64} << 20, .min_rows = 0}, kernels_, block_rows);
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->add_engine(engine_);
  }
  auto rows() { return query::from(rows_).as_accelerated().in(*session_); }
  std::size_t used() {
    std::size_t bytes = 0;
    for (const auto& gpu : gpus_of(*engine_).all()) bytes += gpu->memory().counters().used;
    return bytes;
  }
  // Calls f(name, query) for each kind of work that devices share.
  template <class F> void each_kind(F f) {
    const auto key = [](auto r) { return r.key; };
    f("where, select", rows().where([](auto r) { return r.id > 10; }).select([](auto r) { return r.value; }));
    f("group_by", rows().group_by(key).select([](auto g) { return g.sum([](auto r) { return r.value; }); }));
    f("order_by", rows().order_by([](auto r) { return r.value; }).select([](auto r) { return r.value; }));
    f("join",
      rows().join(query::from(rows_).where([](auto r) { return r.id < 50; }), key, key, [](auto l, auto r) { return l.value * r.value; }));
    f("cached", rows().select([](auto r) { return r.value; }).cached());
  }

  std::vector<Row> rows_;
  driver_double fake_{1, std::size_t{1} << 30, 4};
  driver unlike_ = fake_.calls();
  std::vector<std::unique_ptr<device>> devices_;
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine_;
  std::unique_ptr<query::Session> session_;
  query::Session cpu_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(shared_vertices, give_each_device_its_share_and_no_more) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    SCOPED_TRACE(n);
    use(n);
    std::array<std::size_t, 4> up{}, launches{};
    for (int i = 0; i < 4; ++i)
      up[static_cast<std::size_t>(i)] = fake_.bytes_up_to(i), launches[static_cast<std::size_t>(i)] = fake_.launches_on(i);
    const auto values = rows().select([](auto r) { return r.value; });
    (void)values.sum();
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t mine = fake_.bytes_up_to(static_cast<int>(i)) - up[i];
      const bool works = fake_.launches_on(static_cast<int>(i)) > launches[i];
      EXPECT_EQ(works, i < n) << i;
      if (i < n) EXPECT_NEAR(static_cast<double>(mine), static_cast<double>(rows_.size() * 8 / n), 16.0) << i;
      else EXPECT_EQ(mine, 0u) << i;
    }
    each_kind([&](const char* what, const auto& q) {
      SCOPED_TRACE(what);
      (void)q.to_vector();
      const std::string plan = q.explain();
      EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
      EXPECT_EQ(plan.find(std::to_string(n) + " x driver double") != std::string::npos, n > 1) << plan;
    });
    EXPECT_EQ(fake_.misplaced(), 0u) << "a context was not current, or memory was used on another device";
  }
}

// explain() says of each vertex that one device runs why the others have none of it.
TEST_F(shared_vertices, or_why_they_are_not) {
  const auto key = [](auto r) { return r.key; };
  const auto value = [](auto r) { return r.value; };
  const auto says = [](const std::string& plan, const char* why) { EXPECT_NE(plan.find(why), std::string::npos) << why << " in " << plan; };
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
    use(n);
    says(rows().distinct_by(key).explain(), "on one GPU: distinct_by runs on one GPU");
    says(rows().reverse().explain(), "on one GPU: reverse runs on one GPU");
    says(rows().group_by(key).as_ordered().select([](auto g) { return g.count(); }).explain(),
         "on one GPU: the order that as_ordered() asks for");
    says(rows().select(value).do_while([](auto q) { return q.select([](auto x) { return x + 1.0; }); }, query::times(3)).explain(),
         "on one GPU: a loop's variable lies on one GPU");
    says(query::range(0, 50'000).as_accelerated().in(*session_).select([](auto x) { return x + 1; }).explain("sum"),
         "on one GPU: rows that no container holds");
    const std::string shared = rows().where([](auto r) { return r.id > 10; }).select(value).explain();
    EXPECT_EQ(shared.find("on one GPU"), std::string::npos) << shared;
  }
  use(2, 0);
  says(rows().select(value).explain("sum"), "on one GPU: its rows are few");
  use(1);
  EXPECT_EQ(rows().distinct_by(key).explain().find("on one GPU"), std::string::npos);
}

// A device of another model gets rows by what the driver says of its memory and multiprocessors.
TEST_F(shared_vertices, of_unlike_devices_are_unlike) {
  driver& unlike = unlike_;
  static const auto like = unlike.cuDeviceGetAttribute;
  unlike.cuDeviceGetName = [](char* name, int length, int device) {
    std::snprintf(name, static_cast<std::size_t>(length), "double %s", device == 1 ? "small" : "large");
    return static_cast<int>(cuda_result::success);
  };
  unlike.cuDeviceGetAttribute = [](int* value, int which, int device) {
    const bool memory = which == 36 || which == 37;
    const int result = memory ? cuda_result::success : like(value, which, device);
    if (memory) *value = 1000;
    if ((which == 36 || which == cuda_attribute::multiprocessors) && device == 1) *value = which == 36 ? 250 : 1;
    return result;
  };
  devices_.clear();
  for (int i = 0; i < 4; ++i) devices_.push_back(std::make_unique<device>(unlike, i));
  use(3);
  const auto before = std::array{fake_.bytes_up_to(0), fake_.bytes_up_to(1), fake_.bytes_up_to(2)};
  (void)rows().select([](auto r) { return r.value; }).sum();
  const double all = static_cast<double>(rows_.size() * 8);
  for (const int i : {0, 1, 2})
    EXPECT_NEAR(static_cast<double>(fake_.bytes_up_to(i) - before[static_cast<std::size_t>(i)]), all * (i == 1 ? 1 : 4) / 9, 32.0) << i;
  EXPECT_EQ(fake_.misplaced(), 0u);
}

TEST(rows_by_rate, are_all_rows_and_equal_for_like_devices) {
  EXPECT_EQ(rows_by_rate(10, {1, 1, 1}), (std::vector<std::size_t>{4, 3, 3}));
  EXPECT_EQ(rows_by_rate(100, {132, 130}), (std::vector<std::size_t>{50, 50}));
  EXPECT_EQ(rows_by_rate(100, {3, 1}), (std::vector<std::size_t>{75, 25}));
  EXPECT_EQ(rows_by_rate(0, {3, 1}), (std::vector<std::size_t>{0, 0}));
  for (std::size_t n = 1; n < 3000; n = n * 5 / 3 + 1) {
    std::size_t sum = 0;
    for (const std::size_t rows : rows_by_rate(n, {0.3, 7.0, 1.1, 2.9})) sum += rows;
    EXPECT_EQ(sum, n);
  }
}

TEST_F(shared_vertices, leave_small_inputs_to_one_device) {
  use(4, 0);  // blocks of their own size: 10,001 rows are few
  const auto launches = fake_.launches_on(0);
  const auto q = rows().select([](auto r) { return r.value; });
  (void)q.sum();
  EXPECT_GT(fake_.launches_on(0), launches);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(fake_.launches_on(i), 0u);
  EXPECT_EQ(q.where([](auto x) { return x > 0; }).explain().find(" x driver double"), std::string::npos);
  EXPECT_EQ(devices_for(std::uint64_t{1} << 20, 8, 4, 0), 1u);
  EXPECT_EQ(devices_for(std::uint64_t{1} << 21, 8, 4, 0), 2u);
  EXPECT_EQ(devices_for(std::uint64_t{1} << 30, 8, 4, 0), 4u);
}

TEST_F(shared_vertices, keep_cached_rows_in_parts_and_copy_them_to_the_device_that_wants_all) {
  use(4);
  const auto kept = rows().cached();
  EXPECT_TRUE(kept.to_vector() == rows_);
  for (const auto& gpu : gpus_of(*engine_).all())
    EXPECT_NEAR(static_cast<double>(gpu->memory().counters().used), static_cast<double>(rows_.size() * 20 / 4), 20'000.0);
  const auto up = fake_.bytes_up();
  EXPECT_EQ(fake_.bytes_between(), 0u);
  (void)kept.select([](auto r) { return r.value; }).sum();
  EXPECT_LT(fake_.bytes_up() - up, 1000u) << "each device folds its own part";
  EXPECT_EQ(fake_.bytes_between(), 0u);
  (void)kept.reverse().to_vector();
  EXPECT_EQ(fake_.bytes_between(), (rows_.size() - 2501) * 20) << "the others' parts to the first device";
  EXPECT_LT(fake_.bytes_up() - up, 10'000u) << "and not by way of the host";
  EXPECT_EQ(fake_.misplaced(), 0u);
}

TEST_F(shared_vertices, bring_rows_that_the_host_keeps_to_the_devices_once) {
  for (const std::size_t devices : {std::size_t{1}, std::size_t{4}}) {
    use(devices, devices == 1 ? 0 : 1000);  // one is not given rows as they are in blocks
    const auto here = query::from(rows_).in(*session_).cached();
    auto up = fake_.bytes_up();
    EXPECT_TRUE(here.to_vector() == rows_);
    EXPECT_EQ(fake_.bytes_up(), up);
    const auto there = here.as_accelerated();
    EXPECT_TRUE(there.to_vector() == rows_);
    EXPECT_GE(fake_.bytes_up() - up, rows_.size() * 20) << there.explain();
    EXPECT_GE(used(), rows_.size() * 20);
    up = fake_.bytes_up();
    (void)there.select([](auto r) { return r.value; }).sum();
    EXPECT_TRUE(here.named("again").as_accelerated().to_vector() == rows_);
    EXPECT_LT(fake_.bytes_up() - up, 1000u);
    const auto down = fake_.bytes_down();
    EXPECT_TRUE(here.to_vector() == rows_);
    EXPECT_EQ(fake_.bytes_down(), down) << "the host has them still";
    EXPECT_EQ(fake_.misplaced(), 0u);
  }
}

TEST_F(shared_vertices, give_back_what_they_keep_for_reuse_when_the_session_is_trimmed) {
  for (const std::size_t devices : {std::size_t{1}, std::size_t{4}}) {
    use(devices);
    const auto kept = rows().cached();
    for (int again = 0; again < 2; ++again) {
      EXPECT_TRUE(kept.to_vector() == rows_);
      EXPECT_TRUE(rows().reverse().reverse().cached().to_vector().size() == rows_.size());
      const auto sum = [&](auto of) {
        std::size_t bytes = 0;
        for (const auto& gpu : gpus_of(*engine_).all()) bytes += of(*gpu);
        return bytes;
      };
      const auto cached = [](gpu_session& gpu) { return gpu.memory().counters().cached; };
      const auto pinned = [](gpu_session& gpu) { return gpu.copies().counters().pinned_bytes; };
      EXPECT_GT(sum(pinned), 0u);
      EXPECT_GT(sum(cached), 0u);
      session_->trim();
      EXPECT_EQ(sum(cached), 0u);
      EXPECT_EQ(sum(pinned), 0u);
    }
    EXPECT_EQ(fake_.misplaced(), 0u);
  }
}

TEST_F(shared_vertices, bring_the_bytes_of_all_parts_together) {
  use(4);
  const auto gpus = gpus_of(*engine_).all();
  query::runtime::session_state& state = *session_->state();
  query::runtime::cancel_flag never;
  query::runtime::run_context context{.scheduler = *state.scheduler, .pool = state.pool, .cancel = never};
  const auto* row = query::ir::describe<Row>();
  std::vector<std::shared_ptr<device_rows>> parts;
  for (std::size_t i = 0; i < 4; ++i) {
    query::detail::row_block block;
    block.rows = rows_.data() + i * 100;
    block.n = i == 2 ? 0 : 100;
    const stream_lease s = gpus[i]->lease();
    parts.push_back(upload_rows(gpus[i], block, row, field_columns(row), *s, context));
    s->synchronize(never);
  }
  const auto all = brought_together(parts, gpus[3], context);
  ASSERT_NE(all, nullptr);
  EXPECT_TRUE(all->on(gpus[3]->on()));
  const query::detail::table t = all->fetch(context);
  ASSERT_EQ(t.n, 300u);
  const auto* mine = static_cast<const Row*>(t.rows);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(mine[i], rows_[i < 200 ? i : i + 100]);
  const query::detail::table parted = parted_rows(row, parts).fetch(context);
  ASSERT_EQ(parted.n, 300u);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(static_cast<const Row*>(parted.rows)[i], rows_[i < 200 ? i : i + 100]);
  EXPECT_EQ(fake_.misplaced(), 0u);
}

// CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: fails the launch, and no other.
constexpr int out_of_resources = 701;

TEST_F(shared_vertices, go_on_without_a_device_that_fails) {
  use(4);
  each_kind([&](const char* what, const auto& q) {
    SCOPED_TRACE(what);
    fake_.fail_launches(out_of_resources, 2);
    EXPECT_NO_THROW((void)q.to_vector());
    const std::string plan = q.explain();
    if (std::string(what) != "cached") {  // the rows are there for the second run
      EXPECT_NE(plan.find("GPU 2 failed: "), std::string::npos) << plan;
      EXPECT_NE(plan.find("its share ran on GPU 0"), std::string::npos) << plan;
    }
    EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
    fake_.fail_launches(cuda_result::success, 2);
    (void)q.to_vector();
    if (std::string(what) != "cached") {
      EXPECT_EQ(q.explain().find("failed"), std::string::npos) << q.explain();
    }
  });
  const auto values = rows().select([](auto r) { return r.value; });
  fake_.fail_launches(out_of_resources, 1);
  EXPECT_NO_THROW((void)values.sum());
  fake_.fail_launches(cuda_result::success, 1);
  EXPECT_EQ(fake_.misplaced(), 0u);
}

TEST_F(shared_vertices, go_to_the_cpu_where_all_fail) {
  use(2);
  for (int i = 0; i < 4; ++i) fake_.fail_launches(out_of_resources, i);
  const auto q = rows().where([](auto r) { return r.id > 10; }).select([](auto r) { return r.value; });
  EXPECT_EQ(q.to_vector(), q.in(cpu_).to_vector());
  EXPECT_NE(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
  EXPECT_EQ(rows().select([](auto r) { return r.value; }).sum(), query::from(rows_).in(cpu_).select([](auto r) { return r.value; }).sum());
}

TEST_F(shared_vertices, give_a_lost_device_no_more_shares) {
  use(3);
  const auto q = rows().where([](auto r) { return r.id > 10; }).select([](auto r) { return r.value; });
  (void)q.to_vector();
  fake_.break_device(cuda_result::ecc_uncorrectable, 2);
  EXPECT_NO_THROW((void)q.to_vector());
  EXPECT_NE(q.explain().find("GPU 2 failed: "), std::string::npos) << q.explain();
  EXPECT_EQ(gpus_of(*engine_).size(), 2u);
  const auto launches = fake_.launches_on(2);
  (void)q.to_vector();
  EXPECT_EQ(fake_.launches_on(2), launches);
  EXPECT_NE(q.explain().find("2 x driver double"), std::string::npos) << q.explain();
}

// The first may be lost by a vertex that it runs alone: others take its place, and the CPU when all are lost.
TEST_F(shared_vertices, run_on_what_is_left_of_the_devices) {
  use(2);
  const auto sorted = rows().order_by([](auto r) { return r.value; }).select([](auto r) { return r.value; });
  const auto last = rows().reverse();
  const auto wanted = last.in(cpu_).to_vector();
  fake_.break_device(cuda_result::ecc_uncorrectable, 0);
  EXPECT_TRUE(last.to_vector() == wanted);  // on the CPU
  EXPECT_EQ(gpus_of(*engine_).size(), 1u);
  EXPECT_EQ(session_->gpu_status().find("lost"), std::string::npos) << session_->gpu_status();
  const auto launches = fake_.launches_on(1);
  (void)last.to_vector();
  EXPECT_GT(fake_.launches_on(1), launches);
  fake_.break_device(cuda_result::ecc_uncorrectable, 1);
  EXPECT_TRUE(last.to_vector() == wanted);
  EXPECT_EQ(gpus_of(*engine_).size(), 0u);
  EXPECT_NE(last.explain().find("the GPU was lost: "), std::string::npos) << last.explain();
  const auto first = fake_.launches_on(0), second = fake_.launches_on(1);
  EXPECT_EQ(sorted.to_vector(), sorted.in(cpu_).to_vector());
  EXPECT_EQ(fake_.launches_on(0), first);
  EXPECT_EQ(fake_.launches_on(1), second);
}

TEST_F(shared_vertices, leave_nothing_behind_when_memory_fails_on_one_device) {
  use(2);
  each_kind([&](const char* what, const auto& q) {
    SCOPED_TRACE(what);
    if (std::string(what) == "cached") return;  // stays in memory by design
    gpu_session& second = *gpus_of(*engine_).all()[1];
    const auto begin = second.memory().counters().allocations;
    (void)q.to_vector();
    const auto count = second.memory().counters().allocations - begin;
    EXPECT_GT(count, 1u);
    for (std::uint64_t k = 1; k <= count; k += 1 + count / 12) {
      const auto before = used();
      second.memory().fail_allocation(k);
      EXPECT_NO_THROW((void)q.to_vector()) << "allocation " << k << " of " << count;
      second.memory().fail_allocation(0);
      EXPECT_EQ(used(), before) << "allocation " << k << " of " << count;
    }
  });
  engine_.reset();
  session_.reset();
  fake_.run_all();
  EXPECT_EQ(fake_.memory_in_use(), 0u);
  EXPECT_EQ(fake_.misplaced(), 0u);
}

// How many compilations it takes until four devices that ask at once have one kernel.
int compilations_for_four_devices() {
  driver_double fake(1, std::size_t{1} << 30, 4);
  std::vector<std::unique_ptr<device>> devices;
  for (int i = 0; i < 4; ++i) devices.push_back(std::make_unique<device>(fake.calls(), i));
  std::atomic<int> compilations{0}, at_work{0}, asking{0};
  kernel_cache kernels({.headers = {}, .options = {}, .folder = "", .compile = [&](std::string_view source, int) {
                          ++compilations;
                          EXPECT_EQ(++at_work, 1) << "two compile one source at the same time";
                          // The others ask while this one is at work.
                          while (asking < 4) std::this_thread::yield();
                          std::this_thread::sleep_for(std::chrono::milliseconds(300));
                          --at_work;
                          return image_of(source);
                        }});
  std::vector<std::future<std::shared_ptr<const kernel>>> asked;
  for (const auto& d : devices)
    asked.push_back(std::async(std::launch::async, [&kernels, &asking, &d] {
      ++asking;
      return kernels.get("sum", "sum", *d);
    }));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(asked[i].get()->on, devices[i].get());
  EXPECT_EQ(kernels.counters().compiled, static_cast<std::uint64_t>(compilations));
  EXPECT_EQ(fake.modules(), 4u);
  return compilations;
}

// A thread may be put aside between asking and looking for the compilation under way, until that has ended: then it compiles by itself,
// rightly, as nothing is kept in a folder. That does not happen each time.
TEST(kernels_of_several_devices, are_compiled_once) {
  int fewest = 4;
  for (int times = 0; times < 20 && fewest > 1; ++times) fewest = std::min(fewest, compilations_for_four_devices());
  EXPECT_EQ(fewest, 1);
}

TEST(estimates, divide_what_devices_share_and_charge_for_putting_it_together) {
  rates r;
  r.up = r.down = 50e9, r.device_memory = 3e12, r.device_operations = 4e12, r.launch = 1e-5, r.host_memory = 300e9;
  work large;
  large.up = 8e9;
  large.steps.push_back({operation::group, 2.5e8, 8e9, 1});
  EXPECT_LT(gpu_seconds(r, large, 1, 2), 0.52 * gpu_seconds(r, large));
  EXPECT_LT(gpu_seconds(r, large, 1, 4), 0.27 * gpu_seconds(r, large));
  large.on_host = 64e9;  // picked from so much of the host's memory: more buses do not help
  EXPECT_NEAR(gpu_seconds(r, large, 1, 4), gpu_seconds(r, large, 1, 2), 0.1 * gpu_seconds(r, large, 1, 2));
  work small;
  small.up = 1e5;
  EXPECT_GT(gpu_seconds(r, small, 1, 2), gpu_seconds(r, small));
}

TEST_F(shared_vertices, leave_what_has_no_kernel_to_the_cpu) {
  for (const std::size_t devices : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    use(devices);
    const auto opaque = rows().where([](const Row& r) { return r.id % 2 == 0; });
    EXPECT_EQ(opaque.count(), 5001);
    EXPECT_EQ(opaque.to_vector().size(), 5001u);
    EXPECT_NE(opaque.explain("count").find("cpu: not on gpu: the predicate of where is opaque"), std::string::npos)
        << opaque.explain("count");
    const auto sorted = rows().order_by([](const Row& r) { return -r.id; });
    EXPECT_EQ(sorted.first().id, 10'000);
    EXPECT_EQ(rows().order_by([](auto r) { return r.id; }, [](auto a, auto b) { return a > b; }).first().id, 10'000);
    EXPECT_EQ(rows().group_by([](const Row& r) { return r.key; }).count().to_vector().size(), 7u);
  }
}

TEST(devices_of_a_session, are_named_by_the_environment) {
  const auto with = [](const char* text) {
    setenv("QUERY_GPUS", text, 1);
    struct unset {
      ~unset() { unsetenv("QUERY_GPUS"); }
    } at_end;
    return query::runtime::options_from_environment().gpus;
  };
  EXPECT_EQ(with("0"), std::vector<int>{0});
  EXPECT_EQ(with("1,0,0"), (std::vector<int>{1, 0, 0}));
  EXPECT_TRUE(with("").empty());
  for (const char* wrong : {"all", "0,", ",1", "-1", "1 2", "99999999999"}) EXPECT_THROW((void)with(wrong), query::user_error) << wrong;
  EXPECT_THROW(query::Session(query::session_options{.gpus = {-1}}), query::user_error);
}

}  // namespace
