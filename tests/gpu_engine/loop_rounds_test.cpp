// Loops on the GPU engine: after a round that was watched, rounds are repeated without the host. Runs on the driver double,
// whose kernels are written here; what the engine launches and copies is counted.
#include <algorithm>

#include <gtest/gtest.h>

#include <query/query.hpp>

#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/loop_kernels.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using loop_kernels::at, loop_kernels::word;

class loop_rounds : public testing::Test {
 protected:
  void SetUp() override {
    loop_kernels::add_round_kernels(fake_);
    pretended_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->add_engine(make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_));
  }

  void multiply_and_add() { loop_kernels::add_multiply_and_add(fake_); }
  void all_below() { loop_kernels::add_all_below(fake_); }
  // x - 1 where x > 0; words: column, 0, 1, out, rows, temporary, count, halt.
  void count_down() {
    fake_.add_kernel("collect_rows", [](void** a) {
      const word* w = static_cast<const word*>(a[0]);
      if (w[7] && *at<word>(w[7])) return;
      word n = 0;
      for (word i = 0; i < w[4]; ++i)
        if (at<word>(w[0])[i] > w[1]) at<word>(w[3])[n++] = at<word>(w[0])[i] - w[2];
      *at<word>(w[6]) = n;
    }, 8 * 8);
  }

  // A join of numbers by themselves, which gives those of the build side. The table is one word, which says that it was built.
  void join_numbers() {
    const auto itself = [](auto x) { return x; };
    const auto q = query::from(rows_).join(query::from(rows_), itself, itself, [](auto, auto k) { return k; });
    const auto graph = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    const query::planner::stage& s = graph->result.stages.front();
    const input_layout numbers = whole_rows(s.join->row);
    const auto words = generate_join_kernels({s.join, false}, numbers, numbers, join_program::unique, false).source.words();
    const auto place = [&](query::gpu_engine::word::role what, std::uint32_t index) {
      return static_cast<std::size_t>(
          std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.what == what && w.index == index; }) - words.begin());
    };
    using role = query::gpu_engine::word::role;
    const std::size_t probe = place(role::column, 0), build = place(role::column, 1), probe_n = place(role::rows, 0),
                      build_n = place(role::argument, join_build_count), slots = place(role::argument, join_slots),
                      out = place(role::argument, join_out), total = place(role::argument, join_total), halt = words.size();
    fake_.add_kernel("build_rows", [=](void** a) {
      const word* w = static_cast<const word*>(a[0]);
      if (w[halt] && *at<word>(w[halt])) return;
      at<word>(w[slots])[0] = 42;
    }, (words.size() + 1) * 8);
    fake_.add_kernel("probe_rows", [=](void** a) {
      const word* w = static_cast<const word*>(a[0]);
      if ((w[halt] && *at<word>(w[halt])) || at<word>(w[slots])[0] != 42) return;
      word n = 0;
      for (word i = 0; i < w[probe_n]; ++i)
        for (word j = 0; j < w[build_n]; ++j)
          if (at<word>(w[probe])[i] == at<word>(w[build])[j]) at<word>(w[out])[n++] = at<word>(w[build])[j];
      *at<word>(w[total]) = n;
    }, (words.size() + 1) * 8);
  }

  std::vector<word> powers(int rounds) {
    return query::from(rows_)
        .as_accelerated()
        .do_while([](auto q) { return q.select([](auto x) { return x * 3u + 1u; }); }, query::times(rounds))
        .in(*session_)
        .to_vector();
  }
  std::vector<word> expected_powers(int rounds) const {
    std::vector<word> r = rows_;
    for (word& x : r)
      for (int i = 0; i < rounds; ++i) x = x * 3 + 1;
    return r;
  }

  auto while_below(word limit, std::uint64_t most = 0) {
    return query::from(rows_)
        .as_accelerated()
        .do_while([](auto q) { return q.select([](auto x) { return x * 3u + 1u; }); },
                  [limit](auto, auto next) { return query::value_of(next).all([limit](auto x) { return x < limit; }); }, most)
        .in(*session_);
  }
  int rounds_below(word limit) const {
    int rounds = 1;
    for (word most = *std::max_element(rows_.begin(), rows_.end()) * 3 + 1; most < limit; most = most * 3 + 1) ++rounds;
    return rounds;
  }

  std::vector<word> rows_ = {5, 9, 2, 100, 7};
  driver_double fake_;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::optional<query::Session> session_;
};

TEST_F(loop_rounds, repeat_what_the_second_round_did) {
  multiply_and_add();
  for (const int rounds : {1, 2, 3, 4, 20}) {
    const std::size_t before = fake_.launches("collect_rows");
    EXPECT_EQ(powers(rounds), expected_powers(rounds)) << rounds;
    EXPECT_EQ(fake_.launches("collect_rows") - before, static_cast<std::size_t>(rounds));
  }
  EXPECT_EQ(fake_.launches("judge_round"), 2u + 18u);  // one round alone is not worth it
}

TEST_F(loop_rounds, copy_nothing_over_the_bus_after_the_first) {
  multiply_and_add();
  const auto bytes_for = [&](int rounds) {
    const std::size_t before = fake_.bytes_up() + fake_.bytes_down();
    (void)powers(rounds);
    return fake_.bytes_up() + fake_.bytes_down() - before;
  };
  (void)bytes_for(4);
  EXPECT_EQ(bytes_for(5), bytes_for(50));
}

TEST_F(loop_rounds, end_where_a_condition_on_the_device_says) {
  multiply_and_add();
  all_below();
  for (const word limit : {word{0}, word{302}, word{1000}, word{5000}, word{100'000}, word{1} << 30, word{1} << 50}) {
    const std::size_t asked = fake_.launches("judge_round");
    const int rounds = rounds_below(limit);
    EXPECT_EQ(while_below(limit).to_vector(), expected_powers(rounds)) << limit;
    EXPECT_GE(fake_.launches("judge_round") - asked + 2, static_cast<std::size_t>(rounds)) << limit;
  }
}

TEST_F(loop_rounds, with_a_condition_copy_no_more_for_more_of_them) {
  multiply_and_add();
  all_below();
  const auto bytes_below = [&](word limit) {
    const std::size_t before = fake_.bytes_up() + fake_.bytes_down();
    (void)while_below(limit).to_vector();
    return fake_.bytes_up() + fake_.bytes_down() - before;
  };
  (void)bytes_below(word{1} << 20);
  EXPECT_EQ(bytes_below(5000), bytes_below(word{1} << 55));
  EXPECT_GT(rounds_below(word{1} << 55), rounds_below(5000) + 20);
}

TEST_F(loop_rounds, of_a_condition_that_holds_for_ever_are_as_many_as_allowed) {
  multiply_and_add();
  all_below();
  for (const std::uint64_t most : {1u, 2u, 3u, 4u, 25u}) {
    const std::size_t before = fake_.launches("collect_rows");
    EXPECT_THROW((void)while_below(~word{0}, most).to_vector(), query::user_error) << most;
    EXPECT_EQ(fake_.launches("collect_rows") - before, most);
  }
}

TEST_F(loop_rounds, stop_where_sizes_change_and_go_on_vertex_by_vertex) {
  count_down();
  for (const int rounds : {3, 5, 6, 7, 9, 12, 60}) {
    const auto rows = query::from(rows_)
                          .as_accelerated()
                          .do_while([](auto q) { return q.where([](auto x) { return x > 0u; }).select([](auto x) { return x - 1u; }); },
                                    query::times(rounds))
                          .in(*session_)
                          .to_vector();
    std::vector<word> expected;
    for (const word x : rows_)
      if (x >= static_cast<word>(rounds)) expected.push_back(x - static_cast<word>(rounds));
    EXPECT_EQ(rows, expected) << rounds;
  }
  EXPECT_GT(fake_.launches("judge_round"), 0u);
}

// The first round's table serves all.
TEST_F(loop_rounds, build_the_table_of_rows_that_stay_once) {
  join_numbers();
  const std::vector<word> stay = {7, 100, 2, 9, 5, 77};
  const auto itself = [](auto x) { return x; };
  const auto others = query::from(stay).as_accelerated();
  for (const int rounds : {1, 2, 3, 4, 20}) {
    const std::size_t built = fake_.launches("build_rows"), probed = fake_.launches("probe_rows");
    const auto rows =
        query::from(rows_)
            .as_accelerated()
            .do_while([&](query::Query<word> now) { return now.join(others, itself, itself, [](auto, auto k) { return k; }); },
                      query::times(rounds))
            .in(*session_)
            .to_vector();
    EXPECT_EQ(rows, rows_) << rounds;
    EXPECT_EQ(fake_.launches("build_rows") - built, 1u) << rounds;
    EXPECT_EQ(fake_.launches("probe_rows") - probed, static_cast<std::size_t>(rounds));
  }
}

TEST_F(loop_rounds, build_the_table_of_the_variable_anew) {
  join_numbers();
  const std::vector<word> stay = {7, 100, 2, 9, 5};
  const auto itself = [](auto x) { return x; };
  const auto others = query::from(stay).as_accelerated();
  for (const int rounds : {1, 2, 3, 20}) {
    const std::size_t built = fake_.launches("build_rows");
    const auto rows =
        query::from(rows_)
            .as_accelerated()
            .do_while([&](query::Query<word> now) { return others.join(now, itself, itself, [](auto, auto k) { return k; }); },
                      query::times(rounds))
            .in(*session_)
            .to_vector();
    EXPECT_EQ(rows, stay) << rounds;
    EXPECT_EQ(fake_.launches("build_rows") - built, static_cast<std::size_t>(rounds));
  }
}

// Whatever lacks memory, of the device or to lock, in whichever round: the rows are right, and nothing stays behind.
TEST_F(loop_rounds, with_a_kept_table_survive_each_failing_allocation) {
  join_numbers();
  const std::vector<word> stay = {7, 100, 2, 9, 5, 77};
  const auto itself = [](auto x) { return x; };
  const auto others = query::from(stay).as_accelerated();
  std::uint64_t allocations = 0, pinned = 0;
  const auto run = [&](std::uint64_t failing, std::uint64_t failing_pinned) {
    query::Session session({.threads = 2, .gpu = query::gpu_use::off});
    const auto engine = make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_);
    session.add_engine(engine);
    device_memory& memory = session_of(*engine).memory();
    const std::uint64_t before = fake_.pinned_allocations();
    memory.fail_allocation(failing);
    fake_.fail_pinned(failing_pinned);
    EXPECT_EQ(query::from(rows_)
                  .as_accelerated()
                  .do_while([&](query::Query<word> now) { return now.join(others, itself, itself, [](auto, auto k) { return k; }); },
                            query::times(7))
                  .in(session)
                  .to_vector(),
              rows_)
        << failing << " of " << allocations << ", " << failing_pinned << " of " << pinned;
    fake_.fail_pinned(0);
    EXPECT_EQ(memory.counters().used, 0u);
    if (!failing && !failing_pinned) allocations = memory.counters().allocations, pinned = fake_.pinned_allocations() - before;
  };
  run(0, 0);
  EXPECT_GT(allocations, 10u);
  EXPECT_GT(pinned, 1u);
  for (std::uint64_t k = 1; k <= allocations; ++k) run(k, 0);
  for (std::uint64_t k = 1; k <= pinned; ++k) run(0, k);
}

TEST_F(loop_rounds, of_blocks_share_the_table_of_a_join) {
  join_numbers();
  query::Session in_blocks({.threads = 2, .gpu = query::gpu_use::off});
  in_blocks.add_engine(make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_, 2));
  const std::vector<word> stay = {7, 100, 2, 9, 5};
  const auto itself = [](auto x) { return x; };
  const auto rows = query::from(rows_)
                        .as_accelerated()
                        .join(query::from(stay).as_accelerated(), itself, itself, [](auto, auto k) { return k; })
                        .in(in_blocks)
                        .to_vector();
  EXPECT_EQ(rows, rows_);
  EXPECT_EQ(fake_.launches("probe_rows"), 3u);
  EXPECT_EQ(fake_.launches("build_rows"), 1u);
}

TEST_F(loop_rounds, give_their_memory_back) {
  multiply_and_add();
  (void)powers(10);
  session_.reset();
  fake_.run_all();
  EXPECT_EQ(fake_.memory_in_use(), 0u);
}

}  // namespace
