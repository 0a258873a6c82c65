// A query with an opaque function in the middle: the vertices before and behind it run on the GPU, its own on the CPU. The plan
// on the driver double; what comes of it on a GPU, where there is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "planner/engines_of_plan.hpp"

namespace {

using namespace query::gpu_engine;

struct Sale {
  std::int64_t shop;
  std::int32_t article;
  std::int64_t amount;
};
QUERY_RECORD(Sale, shop, article, amount);
struct Sum {
  std::int64_t key, sum;
  bool operator==(const Sum&) const = default;
};
QUERY_RECORD(Sum, key, sum);

// Nothing can be seen of it.
std::int64_t district_of(const std::int64_t& shop) { return static_cast<std::int64_t>(std::to_string(shop).size() * 100 + shop % 7); }

// Sums a shop, then a district, which the function knows; then sorted.
auto by_district(const std::vector<Sale>& sales) {
  return query::from(sales)
      .as_accelerated()
      .group_by([](auto s) { return s.shop; })
      .select([](auto g) { return query::make<Sum>(g.key(), g.sum([](auto s) { return s.amount; })); })
      .select([](const Sum& s) { return Sum{district_of(s.key), s.sum}; })
      .group_by([](auto s) { return s.key; })
      .select([](auto g) { return query::make<Sum>(g.key(), g.sum([](auto s) { return s.sum; })); })
      .order_by([](auto s) { return s.sum; });
}
std::vector<Sale> sales() {
  std::vector<Sale> all;
  for (int i = 0; i < 200'000; ++i) all.push_back({i * 7919ll % 20'011, i % 50, i % 1000});
  return all;
}

template <class Q> void goes_there_and_back(const Q& q) {
  const std::string plan = q.explain();
  EXPECT_EQ(engines_of(plan), (std::vector<std::string>{"gpu", "cpu", "gpu", "gpu"})) << plan;
  EXPECT_NE(plan.find("cpu: not on gpu: the projection of select is opaque"), std::string::npos) << plan;
}

TEST(opaque_middle, is_planned_between_two_vertices_on_the_gpu) {
  driver_double fake;
  fake.allow_unknown_kernels();
  const device d(fake.calls(), 0);
  kernel_cache kernels(
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
  query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  session.add_engine(make_engine(d, {std::size_t{64} << 20, 0}, kernels));
  const std::vector<Sale> rows = sales();
  goes_there_and_back(by_district(rows).in(session));
}

TEST(opaque_middle, gives_the_rows_that_the_cpu_gives) {
  if (!device::first() || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
  query::Session session({.gpu_min_rows = 0}), cpu({.gpu = query::gpu_use::off});
  const std::vector<Sale> rows = sales();
  const auto q = by_district(rows).in(session);
  goes_there_and_back(q);
  const std::vector<Sum> mine = q.to_vector(), wanted = by_district(rows).in(cpu).to_vector();
  EXPECT_GT(wanted.size(), 10u);
  EXPECT_TRUE(mine == wanted);
  const std::string plan = q.explain();
  EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
}

}  // namespace
