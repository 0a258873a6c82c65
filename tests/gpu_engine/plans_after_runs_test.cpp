// What explain() says of vertices that run on a GPU: that their row-wise work is generated, and after a run in how many pieces the rows
// went. On the driver double, whose kernels do nothing: groups are never spilled here (out_of_core_test.cpp has those).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Sale {
  std::int64_t id;
  std::int32_t shop;
  double price;
};
QUERY_RECORD(Sale, id, shop, price);

class plans_after_runs : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (int i = 0; i < 6000; ++i) sales_.push_back({i, i % 7, i * 0.5});
    use(0);
  }
  void use(std::size_t block_rows) {
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2});
    session_->state()->take_gpu(make_engine(device_, {std::size_t{64} << 20, 0}, kernels_, block_rows));
  }
  auto sales() { return query::from(sales_).as_accelerated().in(*session_); }
  static bool says(const std::string& plan, const std::string& words) { return plan.find(words) != std::string::npos; }

  std::vector<Sale> sales_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::unique_ptr<query::Session> session_;
};

const auto dear = [](auto s) { return s.price > 3.0; };
const auto price = [](auto s) { return s.price; };
const auto shop = [](auto s) { return s.shop; };

TEST_F(plans_after_runs, rows_in_one_piece_are_not_spoken_of) {
  const auto q = sales().where(dear).select(price);
  (void)q.to_vector();
  EXPECT_FALSE(says(q.explain(), "in the last run")) << q.explain();
  (void)q.sum();
  EXPECT_FALSE(says(q.explain("sum"), "in the last run")) << q.explain("sum");
}

TEST_F(plans_after_runs, blocks_are_counted_of_each_verb) {
  use(1000);
  const auto rows = sales().where(dear).select(price);
  const auto sorted = sales().order_by(price).select([](auto s) { return s.id; });
  const auto groups = sales().group_by(shop).select([](auto g) { return g.sum([](auto s) { return s.price; }); });
  const std::string blocks = "in the last run: 6 blocks of rows\n";
  EXPECT_FALSE(says(rows.explain(), "in the last run")) << "nothing ran yet";
  (void)rows.to_vector();
  (void)sorted.to_vector();
  (void)groups.to_vector();
  EXPECT_TRUE(says(rows.explain(), blocks)) << rows.explain();
  EXPECT_TRUE(says(sorted.explain(), blocks)) << sorted.explain();
  EXPECT_TRUE(says(groups.explain(), blocks)) << groups.explain();
  EXPECT_FALSE(says(rows.explain("sum"), "in the last run")) << "another terminal verb";
  (void)rows.sum();
  EXPECT_TRUE(says(rows.explain("sum"), "sum: " + blocks)) << rows.explain("sum");
}

// A first of each group wants the groups' rows: they are parted by key.
TEST_F(plans_after_runs, partitions_are_counted) {
  use(1000);
  const auto q = sales().group_by(shop).select([](auto g) { return g.first([](auto s) { return s.price; }); });
  (void)q.to_vector();
  EXPECT_TRUE(says(q.explain(), "partition") && says(q.explain(), " in host memory")) << q.explain();
}

TEST_F(plans_after_runs, a_run_that_ended_on_the_cpu_was_in_no_pieces) {
  use(1000);
  const auto q = sales().where(dear).select(price);
  (void)q.to_vector();
  ASSERT_TRUE(says(q.explain(), "in the last run: 6 blocks of rows")) << q.explain();
  fake_.fail_launches(cuda_result::launch_failed);
  EXPECT_EQ(q.to_vector().size(), 5993u);
  EXPECT_TRUE(says(q.explain(), "the last run went to the cpu: ")) << q.explain();
  EXPECT_FALSE(says(q.explain(), "in the last run")) << q.explain();
}

TEST(pieces_of_runs, are_told_once) {
  query::runtime::pieces_run pieces;
  EXPECT_EQ(pieces.taken(), "");
  pieces.blocks = 12, pieces.spills = 3;
  EXPECT_EQ(pieces.taken(), "12 blocks of rows, 3 spills of groups to host memory");
  EXPECT_EQ(pieces.taken(), "");
  pieces.blocks = 1, pieces.partitions = 8, pieces.spills = 1;
  EXPECT_EQ(pieces.taken(), "1 block of rows, 8 partitions in host memory, 1 spill of groups to host memory");
  pieces.blocks = 586, pieces.in_rooms = 480, pieces.waited = 120;
  EXPECT_EQ(pieces.taken(), "586 blocks of rows, 480 blocks in reserved memory, waited 120 ms for memory");
  pieces.waited = 3;
  EXPECT_EQ(pieces.taken(), "waited 3 ms for memory");
  EXPECT_EQ(pieces.taken(), "");
}

TEST_F(plans_after_runs, row_wise_work_of_the_gpu_is_generated) {
  const auto q = sales().where(dear).select(price).order_by([](auto p) { return p; });
  EXPECT_TRUE(says(q.explain(), "where, select: generated\n")) << q.explain();
  EXPECT_FALSE(says(q.explain(), "native")) << q.explain();
  const auto sum = sales().where(dear).select(price);
  EXPECT_TRUE(says(sum.explain("sum"), "where, select: generated\n")) << sum.explain("sum");
  EXPECT_FALSE(says(sum.explain("sum"), "native")) << sum.explain("sum");
  // What no GPU was asked for is the compiler's.
  EXPECT_TRUE(says(query::from(sales_).in(*session_).where(dear).order_by(price).explain(), "where: native"));
}

}  // namespace
