// By which tier the groups of blocks of rows are computed, on the driver double, whose sample says what the test wants: which kernels run,
// how often, and that what found no place goes into a larger table, and once alone.
#include <gtest/gtest.h>

#include <deque>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_engine/upload.hpp"
#include "gpu_engine/words_read.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

constexpr std::uint64_t block_rows = 300'000;

template <class T> T& memory(std::uint64_t address) { return *reinterpret_cast<T*>(address); }

class group_tiers_of_blocks : public testing::Test {
 protected:
  using call = driver_double::generated_call;

  void SetUp() override {
    session_.add_engine(engine_);
    fake_.allow_unknown_kernels();
    fake_.add_generated("sample_groups", [this](const call& c) {
      const auto w = read_by(c, "sample_groups");  // slots, bits twice, sample_count, full, sample_rows, sample_stride, sample_kept
      std::uint64_t n = few_;
      if (!samples_.empty()) n = samples_.front(), samples_.pop_front();
      std::uint64_t* const counts = &memory<std::uint64_t>(w[3]);
      memory<std::uint64_t>(w[7]) = w[5];
      counts[0] = std::min(n, w[5]);
      counts[1] = counts[2] = n < w[5] ? n : w[5] / 2;
      ran_ += "sample ";
    });
    fake_.add_generated("aggregate_shared_rows", [this](const call& c) {
      ran_ += c.program.find("group_copies::thread") != std::string::npos ? "thread "
              : c.program.find("group_copies::warp") != std::string::npos ? "warp "
                                                                          : "block ";
      refuse(c, rows_refused_);
    });
    fake_.add_generated("aggregate_rows", [this](const call& c) {
      ran_ += "rows ";
      refuse(c, again_refused_);
    });
    fake_.add_generated("merge_partials", [this](const call& c) {
      ran_ += "merge ";
      refuse(c, states_refused_);
    });
    fake_.add_generated("grow_table", [this](const call&) { ran_ += "grow "; });
  }
  // The first tile finds no place.
  void refuse(const call& c, int& times) {
    const auto w = read_by(c, "the_list");  // tiles, their number, full
    if (times == 0) return;
    --times;
    memory<std::uint64_t>(w[0]) = 32;
    memory<std::uint64_t>(w[1]) = 1;
    memory<std::uint32_t>(w[2]) = 1;
  }

  template <class Q> std::string blocks(const Q& q) {
    ran_.clear();
    const auto here = q.in(session_);
    (void)here.to_vector();
    EXPECT_EQ(here.explain().find("went to the cpu"), std::string::npos) << here.explain();
    return ran_;
  }
  // Two blocks and a short one.
  auto groups() const {
    return query::range(std::int64_t{0}, 2 * block_rows + 1000).as_accelerated().group_by([](auto i) { return i % 7; }).select([](auto g) {
      return std::make_pair(g.key(), g.sum([](auto i) { return i; }));
    });
  }

  static constexpr std::uint64_t few_ = 7, many_ = std::uint64_t{1} << 40;
  std::string ran_;
  std::deque<std::uint64_t> samples_;
  int rows_refused_ = 0, again_refused_ = 0, states_refused_ = 0;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine_ = make_engine(device_, {std::size_t{64} << 20, 0}, kernels_, block_rows);
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(group_tiers_of_blocks, are_chosen_by_a_sample_of_each_long_block) {
  EXPECT_EQ(blocks(groups()), "sample thread merge sample thread merge thread merge ");
  samples_ = {700, 700};
  const std::string some = blocks(groups());
  EXPECT_TRUE(some == "sample warp merge sample warp merge warp merge " || some == "sample block merge sample block merge block merge ")
      << some;
  samples_ = {many_, many_};
  EXPECT_EQ(blocks(groups()), "sample rows sample rows rows ");
}

TEST_F(group_tiers_of_blocks, change_from_block_to_block) {
  samples_ = {few_, many_};
  EXPECT_EQ(blocks(groups()), "sample thread merge sample rows rows ");
  samples_ = {many_, few_};
  EXPECT_EQ(blocks(groups()), "sample rows sample thread merge thread merge ");
}

TEST_F(group_tiers_of_blocks, give_what_found_no_place_to_a_larger_table) {
  rows_refused_ = 1;
  EXPECT_EQ(blocks(groups()), "sample thread merge grow rows sample thread merge thread merge ");
  states_refused_ = 1;
  EXPECT_EQ(blocks(groups()), "sample thread merge grow merge sample thread merge thread merge ");
  // At last the table may not grow any more, and is emptied.
  rows_refused_ = again_refused_ = states_refused_ = 1;
  EXPECT_EQ(blocks(groups()), "sample thread merge grow rows grow rows merge sample thread merge thread merge ");
  states_refused_ = 2;
  EXPECT_EQ(blocks(groups()), "sample thread merge grow merge grow merge sample thread merge thread merge ");
}

// What a sample and tables of blocks want is not there: rows go into the table, and the block is not cut for it.
TEST_F(group_tiers_of_blocks, take_no_memory_that_is_not_there) {
  const auto q = groups();
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  const query::planner::vertex& v = *g->vertices.front();
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session_.state()->scheduler, session_.state()->pool, cancel};
  auto gpu = std::make_shared<gpu_session>(device_, std::size_t{64} << 20, kernels_);
  const auto block = std::make_shared<device_rows>(gpu, query::ir::describe<std::int64_t>(), block_rows);
  block->add_counted(query::ir::describe<std::int64_t>(), 5);
  std::vector<std::string> seen;
  for (std::uint64_t failing = 1; failing < 20; ++failing) {  // more than there are
    vertex_run run(gpu, {}, context);
    group_stream groups(v, run);
    ran_.clear();
    gpu->memory().fail_allocation(failing);
    bool failed = false;
    try {
      groups.take(block);
    } catch (const out_of_memory&) {
      failed = true;
      EXPECT_TRUE(ran_.empty() || ran_ == "sample ") << failing << ": " << ran_;
    }
    gpu->memory().fail_allocation(0);
    if (!failed) seen.push_back(ran_);
  }
  EXPECT_EQ(seen.back(), "sample thread merge ");
  EXPECT_NE(std::find(seen.begin(), seen.end(), "rows "), seen.end());         // without the sample
  EXPECT_NE(std::find(seen.begin(), seen.end(), "sample rows "), seen.end());  // without tables of blocks
}

TEST_F(group_tiers_of_blocks, compute_the_numbers_of_a_range) {
  EXPECT_EQ(blocks(groups()).find("sample"), 0u);
  EXPECT_EQ(fake_.launches("count_rows"), 0u);
  fake_.add_generated("count_rows", [this](const call&) { ran_ += "count "; });
  const auto floating = query::range(0.5, 2 * block_rows)
                            .as_accelerated()
                            .group_by([](auto x) { return query::cast<std::int64_t>(x) % 7; })
                            .select([](auto g) { return g.count(); });
  EXPECT_EQ(blocks(floating).find("count "), 0u);
}

}  // namespace
