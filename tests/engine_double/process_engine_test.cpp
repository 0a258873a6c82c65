// A second engine fits behind runtime::engine: vertices run in another process, its failures are retried and then taken
// over by the CPU, and what it refuses stays here with the reason in the plan.
#include <gtest/gtest.h>

#include <query/query.hpp>

#include "engine_double/process_engine.hpp"

namespace {

struct Reading {
  std::int32_t sensor;
  double value;
  std::int64_t at;
};
QUERY_RECORD(Reading, sensor, value, at);
struct Scaled {
  std::int32_t sensor;
  double value;
};
QUERY_RECORD(Scaled, sensor, value);

using engine_double::process_engine;

std::vector<Reading> readings(std::size_t n) {
  std::vector<Reading> r;
  for (std::size_t i = 0; i < n; ++i)
    r.push_back({static_cast<std::int32_t>(i % 13), static_cast<double>(i) * 0.25, static_cast<std::int64_t>(i)});
  return r;
}

struct engine_test : testing::Test {
  std::shared_ptr<process_engine> engine;
  query::Session session;
  void use(process_engine::faults f) {
    engine = std::make_shared<process_engine>(f);
    session.add_engine(engine);
  }
  auto scaled(const std::vector<Reading>& rows) {
    return query::from(rows).in(session).where([](auto r) { return r.sensor > 3 && r.value < 20000.0; }).select([](auto r) {
      return query::make<Scaled>(r.sensor, r.value * 2 + 1);
    });
  }
  void expect_scaled(const std::vector<Reading>& rows, const std::vector<Scaled>& got) {
    std::size_t k = 0;
    for (const Reading& r : rows) {
      if (!(r.sensor > 3 && r.value < 20000.0)) continue;
      ASSERT_LT(k, got.size());
      EXPECT_EQ(got[k].sensor, r.sensor);
      EXPECT_EQ(got[k].value, r.value * 2 + 1);
      ++k;
    }
    EXPECT_EQ(k, got.size());
  }
};

TEST_F(engine_test, runs_traced_vertices_in_the_other_process) {
  use({});
  const auto rows = readings(200'000);
  expect_scaled(rows, scaled(rows).to_vector());
  EXPECT_EQ(engine->completed(), 1);
}

TEST_F(engine_test, gives_its_rows_to_vertices_of_the_cpu) {
  use({});
  const auto rows = readings(50'000);
  auto sums = scaled(rows)
                  .group_by([](auto s) { return s.sensor; })
                  .select([](auto g) { return g.sum([](auto s) { return s.value; }); })
                  .to_vector();
  EXPECT_EQ(sums.size(), 9u);
  EXPECT_EQ(scaled(rows).count(), static_cast<std::int64_t>(scaled(rows).to_vector().size()));
}

TEST_F(engine_test, retries_a_vertex_whose_worker_died) {
  use({.crash_every = 2});
  const auto rows = readings(10'000);
  for (int i = 0; i < 4; ++i) expect_scaled(rows, scaled(rows).to_vector());
  EXPECT_GT(engine->started(), engine->completed());
  EXPECT_EQ(engine->completed(), 4);
}

TEST_F(engine_test, leaves_a_vertex_that_always_fails_to_the_cpu) {
  use({.always = true});
  const auto rows = readings(10'000);
  expect_scaled(rows, scaled(rows).to_vector());
  EXPECT_EQ(engine->completed(), 0);
  EXPECT_EQ(engine->started(), 2);  // the attempt and its retry
}

TEST_F(engine_test, refuses_opaque_functions_and_says_so_in_the_plan) {
  use({});
  const auto rows = readings(1000);
  auto q = query::from(rows).in(session).where([](const Reading& r) { return r.sensor > 3; });
  EXPECT_GT(q.to_vector().size(), 0u);
  EXPECT_EQ(engine->started(), 0);
  EXPECT_NE(q.explain().find("opaque"), std::string::npos) << q.explain();
}

TEST_F(engine_test, brings_user_errors_home_without_a_retry) {
  use({});
  const auto rows = readings(1000);
  auto q = query::from(rows).in(session).select([](auto r) { return 100 / (r.sensor - 5); });
  EXPECT_THROW(q.to_vector(), query::user_error);
  EXPECT_EQ(engine->started(), 1);
}

TEST_F(engine_test, can_be_cancelled_while_it_runs) {
  use({.delay_ms = 20});
  const auto rows = readings(4'000'000);
  EXPECT_THROW(scaled(rows).timeout(0.1).to_vector(), query::cancelled);
  expect_scaled(readings(1000), scaled(readings(1000)).to_vector());
}

TEST_F(engine_test, leaves_the_users_comparisons_of_keys_here) {
  use({});
  const auto rows = readings(1000);
  const auto q = query::from(rows).in(session);
  const auto sensor = [](auto r) { return r.sensor; };
  const auto same = [](std::int32_t a, std::int32_t b) { return a / 2 == b / 2; };
  const auto hash = [](std::int32_t a) { return static_cast<std::size_t>(a / 2); };
  const auto less = [](std::int32_t a, std::int32_t b) { return b < a; };
  const std::string refused = "process: the user's own comparison of keys stays here";
  const auto refuses = [&](const std::string& plan) { return plan.find(refused) != std::string::npos; };
  EXPECT_TRUE(refuses(q.distinct_by(sensor, same, hash).explain()));
  EXPECT_TRUE(refuses(q.count_by(sensor, same, hash).explain()));
  EXPECT_TRUE(refuses(q.order_by(sensor, less).explain()));
  EXPECT_TRUE(refuses(q.order_by(sensor).then_by(sensor, less).explain()));
  EXPECT_TRUE(refuses(q.semi_join(q, sensor, sensor, same, hash).explain()));
  EXPECT_TRUE(refuses(q.full_join(q, sensor, sensor, same, hash).explain()));
  EXPECT_FALSE(refuses(q.order_by(sensor).distinct_by(sensor).explain()));
  EXPECT_EQ(q.distinct_by(sensor, same, hash).count(), 7);
  EXPECT_EQ(q.order_by(sensor, less).first().sensor, 12);
  EXPECT_EQ(engine->started(), 0);
}

TEST_F(engine_test, rows_of_a_generator_are_handed_on_around_it) {
  use({});
  const auto numbers = query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }).in(session).timeout(60);
  const auto odd = query::opaque([](std::int64_t x) { return x % 2 == 1; });
  EXPECT_EQ(numbers.where(odd).chunk(3).first(), (std::vector<std::int64_t>{1, 3, 5}));
  EXPECT_EQ(numbers.where(odd).distinct().take(2).to_vector(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(engine->started(), 0);
}

}  // namespace
