// What explain() says of a loop after a run: which of its rounds were repeated without the host, and why the others were not. On the driver
// double, whose kernels do nothing but for those that are written here.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/loop_kernels.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using loop_kernels::at, loop_kernels::word;
using numbers = query::Query<word>;

class loops_in_plans : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    loop_kernels::add_round_kernels(fake_);
    use(0);
  }
  void use(std::size_t block_rows, bool graphs = false) {
    session_.reset();
    if (graphs) fake_.have_graphs();
    device_.emplace(fake_.calls(), 0);
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2});
    session_->state()->take_gpu(make_engine(*device_, {std::size_t{64} << 20, 0}, kernels_, block_rows));
  }
  auto rows() { return query::from(rows_).as_accelerated().in(*session_); }
  template <class Body> auto loop(Body body, std::uint64_t rounds) { return rows().do_while(body, query::times(rounds)); }

  // After a run, of the loop, or of the outer of two.
  template <class Q> void says_after(const Q& q, const std::string& what) {
    EXPECT_EQ(q.explain().find(" vertex by vertex: "), std::string::npos) << "nothing ran yet";
    (void)q.to_vector();
    const std::string plan = q.explain();
    EXPECT_NE(plan.find("in the last run: " + what + "\n"), std::string::npos) << what << "\n" << plan;
  }

  std::vector<word> rows_ = {5, 9, 2, 100, 7};
  driver_double fake_;
  std::optional<device> device_;
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::unique_ptr<query::Session> session_;
};

const auto multiplied = [](numbers q) { return q.select([](auto x) { return x * 3u + 1u; }); };

TEST_F(loops_in_plans, rounds_that_are_repeated_are_named) {
  loop_kernels::add_multiply_and_add(fake_);
  says_after(loop(multiplied, 20), "rounds 3 to 20 by the same launches, without CUDA graphs");
  use(0, true);
  const auto q = loop(multiplied, 20);
  says_after(q, "rounds 3 to 20 as CUDA graphs");
  fake_.fail_launches(cuda_result::launch_failed);
  (void)q.to_vector();
  EXPECT_NE(q.explain().find("in the last run: 20 rounds vertex by vertex: its rows were not on the GPU\n"), std::string::npos)
      << q.explain();
}

TEST_F(loops_in_plans, rounds_up_to_where_the_condition_ended_them_are_named) {
  loop_kernels::add_multiply_and_add(fake_);
  loop_kernels::add_all_below(fake_);
  const auto below = [this](word limit) {
    return rows().do_while(multiplied,
                           [limit](numbers, numbers next) { return query::value_of(next).all([limit](auto x) { return x < limit; }); });
  };
  says_after(below(100'000), "rounds 3 to 7 by the same launches, without CUDA graphs");
  says_after(below(100), "1 round vertex by vertex: too few to repeat one");
}

TEST_F(loops_in_plans, rounds_that_change_their_size_are_counted_and_the_reason_is_named) {
  // x - 1 where x > 0; words: column, 0, 1, out, rows, temporary, count, halt.
  fake_.add_kernel("collect_rows", [](void** a) {
    const word* w = static_cast<const word*>(a[0]);
    if (w[7] && *at<word>(w[7])) return;
    word n = 0;
    for (word i = 0; i < w[4]; ++i)
      if (at<word>(w[0])[i] > w[1]) at<word>(w[3])[n++] = at<word>(w[0])[i] - w[2];
    *at<word>(w[6]) = n;
  }, 8 * 8);
  const auto down = [](numbers q) { return q.where([](auto x) { return x > 0u; }).select([](auto x) { return x - 1u; }); };
  says_after(loop(down, 60),
             "round 5 by the same launches, without CUDA graphs, the other 59 vertex by vertex: a number of rows, the size of a table or "
             "an error differed from the round before");
  rows_ = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  says_after(loop(down, 8), "8 rounds vertex by vertex: the number of its rows changes, in the last of three rounds that were watched");
  rows_.clear();
  says_after(loop(down, 8), "8 rounds vertex by vertex: it has no rows left");
}

TEST_F(loops_in_plans, loops_of_too_few_rounds_are_told) {
  says_after(loop(multiplied, 3), "3 rounds vertex by vertex: too few to repeat one");
}

TEST_F(loops_in_plans, rows_that_do_not_fit_are_the_reason) {
  use(2);
  says_after(loop(multiplied, 5), "5 rounds vertex by vertex: its rows were not on the GPU");
}

TEST_F(loops_in_plans, strings_are_the_reason) {
  const std::vector<std::string> names = {"one name", "another", "a third"};
  const auto q = query::from(names).as_accelerated().in(*session_);
  says_after(q.do_while([](auto x) { return x.distinct(); }, query::times(5)), "5 rounds vertex by vertex: its rows hold strings or lists");
}

TEST_F(loops_in_plans, strings_in_between_are_the_reason) {
  says_after(loop([](numbers q) {
               return q.select([](auto x) { return query::iff(x > 5u, std::string("more"), std::string("less")); })
                   .reverse()
                   .select([](auto s) { return query::cast<word>(s.size()); });
             }, 5),
             "5 rounds vertex by vertex: rows hold strings or lists");
}

TEST_F(loops_in_plans, partitions_are_the_reason) {
  says_after(loop([](numbers q) { return q.hash_partitioned_by([](auto x) { return x; }, 3).select([](auto x) { return x; }); }, 5),
             "5 rounds vertex by vertex: the host reads where partitions end");
}

TEST_F(loops_in_plans, functions_are_the_reason) {
  int n = 0;
  const auto q = rows().do_while(multiplied, [&n](std::span<const word>, std::span<const word>) { return ++n < 5; });
  says_after(q, "5 rounds vertex by vertex: its condition is a function that is given the rows in this process");
  says_after(loop([](numbers x) { return x.reverse().select([](const word& y) { return y + 1; }).order_by([](auto y) { return y; }); }, 5),
             "5 rounds vertex by vertex: select runs on the cpu");
}

TEST_F(loops_in_plans, what_apply_gives_the_gpu_is_the_reason) {
  says_after(loop([this](numbers q) {
               return q.apply_all([](std::span<const word> in) { return std::vector<word>(in.begin(), in.end()); },
                                  query::on_gpu([this](auto& in) {
                                    const word* from = in.rows();
                                    word* to = in.results(in.size());
                                    QUERY_CUDA(fake_.calls(), cuMemcpyDtoDAsync, reinterpret_cast<device_address>(to),
                                               reinterpret_cast<device_address>(from), in.size() * 8,
                                               static_cast<stream_handle>(in.stream()));
                                  }));
             }, 5),
             "5 rounds vertex by vertex: what apply's function gives the GPU is not seen");
}

TEST_F(loops_in_plans, a_loop_in_a_loop_is_told_of_and_the_reason) {
  loop_kernels::add_multiply_and_add(fake_);
  const auto q = loop([](numbers x) { return x.do_while(multiplied, query::times(6)); }, 5);
  says_after(q, "5 rounds vertex by vertex: there is a loop in it");
  EXPECT_NE(q.explain().find("in the last run: rounds 3 to 6 by the same launches"), std::string::npos) << q.explain();
}

TEST_F(loops_in_plans, loops_on_the_cpu_are_not_spoken_of) {
  const auto q = query::from(rows_).in(*session_).do_while(multiplied, query::times(5));
  (void)q.to_vector();
  EXPECT_EQ(q.explain().find("in the last run"), std::string::npos) << q.explain();
}

}  // namespace
