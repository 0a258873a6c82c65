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
#include "gpu_engine/fixed_rates.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "planner/engines_of_plan.hpp"
#include "runtime/session_state.hpp"

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

// Without a verb that reads all rows the parts are weighed as they are: rows that cross the bus against the functions' work.
struct opaque_middle_weighed : testing::Test {
  opaque_middle_weighed() {
    fake.allow_unknown_kernels();
    expect_rates(fixed_rates(), *engine, session);
    session.state()->take_gpu(engine);
  }
  auto rows() { return query::from(prices).as_accelerated().in(session); }

  const std::vector<double> prices = std::vector<double>(2'000'000, 1.5);
  driver_double fake;
  device d{fake.calls(), 0};
  kernel_cache kernels{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine = make_engine(d, {std::size_t{256} << 20, 0}, kernels);
  query::Session session{{.threads = 2}};
};

const auto costly = [](auto x) {
  auto y = x;
  for (int i = 0; i < 12; ++i) y = query::exp(query::sin(y) * query::cos(y)) + x;
  return y;
};
const auto cheap = [](auto x) { return x + 1.0; };
double rounded(const double& x) { return static_cast<double>(static_cast<std::int64_t>(x * 100)) / 100; }

using engines = std::vector<std::string>;

TEST_F(opaque_middle_weighed, goes_there_and_back_where_both_parts_are_costly) {
  const auto q = rows().select(costly).select(rounded).select(costly);
  EXPECT_EQ(engines_of(q.explain()), engines({"gpu", "cpu", "gpu"})) << q.explain();
  EXPECT_EQ(engines_of(q.explain("sum")), engines({"gpu", "cpu"})) << q.explain("sum");
  EXPECT_NE(q.explain("sum").find("sum: gpu: "), std::string::npos) << q.explain("sum");
}

TEST_F(opaque_middle_weighed, goes_there_with_the_costly_part_alone) {
  const auto before = rows().select(costly).select(rounded).select(cheap);
  const auto behind = rows().select(cheap).select(rounded).select(costly);
  EXPECT_EQ(engines_of(before.explain()), engines({"gpu"})) << before.explain();
  EXPECT_NE(before.explain().find("rows: cpu: not on gpu: the projection of select is opaque"), std::string::npos) << before.explain();
  EXPECT_EQ(engines_of(behind.explain()), engines({"cpu", "gpu"})) << behind.explain();
  EXPECT_EQ(engines_of(before.explain("max")), engines({"gpu"})) << before.explain("max");
  EXPECT_EQ(engines_of(behind.explain("max")), engines({"cpu"})) << behind.explain("max");
  const auto sorted = rows().select(costly).select(rounded).order_by([](const double& x) { return -x; });
  EXPECT_EQ(engines_of(sorted.explain()), engines({"gpu", "cpu"})) << sorted.explain();
}

TEST_F(opaque_middle_weighed, changes_no_plan_where_nothing_is_costly) {
  const auto q = rows().select(cheap).where([](auto x) { return x > 0.5; }).select(rounded).select(cheap);
  const std::string plan = q.explain();
  EXPECT_EQ(engines_of(plan), engines()) << plan;
  EXPECT_NE(plan.find("select, where, select, select: native"), std::string::npos) << plan;
  EXPECT_EQ(engines_of(q.explain("sum")), engines()) << q.explain("sum");
  // One that is ordered there goes, and nothing else.
  const auto ordered = rows().select(cheap).on(query::engine::gpu).select(rounded).select(cheap);
  EXPECT_EQ(engines_of(ordered.explain()), engines({"gpu"})) << ordered.explain();
  EXPECT_NE(ordered.explain().find("as on(engine::gpu) orders for select"), std::string::npos) << ordered.explain();
}

TEST_F(opaque_middle_weighed, counts_the_tables_that_the_cpu_would_not_make) {
  // Fused with the opaque function the CPU has the rows in one loop.
  const auto g = query::planner::make_machine_graph(rows().select(cheap).to_pipe(), "", {.separate_result = true, .gpu_status = ""});
  query::planner::vertex& made = *g->vertices.back();
  query::planner::vertex reader;
  reader.inputs.emplace_back().table = &made;
  reader.inputs.front().row = made.row();
  const auto alone = work_of(made), read = work_of(reader);
  made.cut_off = true;
  const auto cut = work_of(made), read_cut = work_of(reader);
  ASSERT_TRUE(alone && read && cut && read_cut);
  const rates r = fixed_rates();
  EXPECT_GT(gpu_seconds(r, *cut), gpu_seconds(r, *alone));
  EXPECT_LT(cpu_seconds(r, *cut), cpu_seconds(r, *alone));
  EXPECT_GT(gpu_seconds(r, *read_cut), gpu_seconds(r, *read));
}

TEST(opaque_middle, gives_the_rows_that_the_cpu_gives_without_a_verb_that_reads_all) {
  if (!device::first() || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
  query::Session session({.gpu_min_rows = 0}), cpu({.gpu = query::gpu_use::off});
  const std::vector<Sale> rows = sales();
  const auto large = [](auto s) { return s.amount > 300; };
  const auto query_in = [&](const query::Session& s) {
    return query::from(rows).as_accelerated().in(s).where(large).select([](const Sale& x) { return Sum{district_of(x.shop), x.amount}; });
  };
  const auto odd = [](auto s) { return s.key % 2 == 1; };
  const auto sum = [](auto s) { return s.sum * 3 + s.key; };
  const auto mine = query_in(session).where(odd).select(sum), wanted = query_in(cpu).where(odd).select(sum);
  EXPECT_EQ(engines_of(mine.explain()), engines({"gpu", "cpu", "gpu"})) << mine.explain();
  EXPECT_TRUE(mine.to_vector() == wanted.to_vector());
  EXPECT_EQ(mine.sum(), wanted.sum());
  EXPECT_TRUE(query_in(session).to_vector() == query_in(cpu).to_vector());
  EXPECT_EQ(mine.explain().find("went to the cpu"), std::string::npos) << mine.explain();
}

}  // namespace
