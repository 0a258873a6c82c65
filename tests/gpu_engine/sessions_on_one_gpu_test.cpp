// Sessions that share a GPU: each keeps to its `gpu_memory`, answers are right, and neither long queries nor short ones wait until
// the others have ended. What is fair is counted in queries that ended meanwhile, never in seconds. Where there is no GPU this is
// skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/larger_than_memory.hpp"
#include "planned_there.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::larger_than_memory;

constexpr std::size_t mib = std::size_t{1} << 20;

template <class Q> std::uint64_t totals(const Q& q) { return digest(q.to_vector()); }

class sessions_on_one_gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!device::first() || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
    for (std::size_t i = 0; i < budgets.size(); ++i)
      sessions_.push_back(std::make_unique<query::Session>(
          query::session_options{.threads = 4, .gpu_memory = budgets[i], .gpu_min_rows = 0}));
  }
  std::size_t peak(std::size_t session) const { return session_of(*sessions_[session]->state()->gpu()).memory().counters().peak; }

  // In blocks: groups and sorted rows that do not fit the budget.
  auto long_query(query::Session& s) const {
    return query::from(many_).as_accelerated().in(s).group_by([](auto r) { return r.id / 4; }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count());
    });
  }
  auto long_sort(query::Session& s) const {
    return query::from(many_).as_accelerated().in(s).order_by([](auto r) { return r.spread; }).select([](auto r) {
      return query::make<Total>(r.id, r.value, r.spread);
    });
  }
  auto short_query(query::Session& s) const {
    return query::from(few_).as_accelerated().in(s).group_by([](auto r) { return r.key; }).select([](auto g) {
      return query::make<Total>(query::cast<std::int64_t>(g.key()), g.sum([](auto r) { return r.value; }), g.count());
    });
  }

  static constexpr std::array<std::size_t, 3> budgets = {64 * mib, 48 * mib, 32 * mib};
  const std::vector<Row> many_ = rows_of(static_cast<std::int64_t>(128 * mib / sizeof(Row))), few_ = rows_of(20'000);
  std::vector<std::unique_ptr<query::Session>> sessions_;
  query::Session cpu_{{.gpu = query::gpu_use::off}};
};

TEST_F(sessions_on_one_gpu, keep_their_budgets_and_none_starves) {
  const std::uint64_t long_answer = totals(long_query(cpu_)), sorted_answer = totals(long_sort(cpu_)),
                      short_answer = totals(short_query(cpu_));
  // Kernels are compiled before, so that who is compiled first is not who ends first.
  for (const auto& s : sessions_) {
    const auto alone = [](const auto& q, std::uint64_t answer) {
      EXPECT_EQ(totals(q), answer);
      const std::string plan = q.explain();
      EXPECT_TRUE(planned_there(plan));
      EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
    };
    alone(long_query(*s), long_answer);
    alone(long_sort(*s), sorted_answer);
    alone(short_query(*s), short_answer);
  }
  // Long queries go on until each thread of short ones has had its share, and the other way round; both give up at last.
  constexpr int longs_wanted = 3, shorts_wanted = 20, most_longs = 60, most_shorts = 100'000;
  struct worker {
    std::size_t session;
    int kind;  // 0, 1: long; 2: short
    std::atomic<int> done{0};
    int waited = 0;     // the most long queries that ended while one of the short ones ran
    int elsewhere = 0;  // those that the CPU took, as others had the session's memory
  };
  std::array<worker, 7> workers = {{{0, 0}, {1, 1}, {2, 0}, {0, 2}, {1, 2}, {2, 2}, {2, 2}}};
  std::atomic<int> wrong{0}, longs_done{0};
  const auto reached = [&](bool shorts, int n) {
    return std::all_of(workers.begin(), workers.end(), [&](const worker& w) { return (w.kind == 2) != shorts || w.done >= n; });
  };
  {
    std::vector<std::jthread> threads;
    for (worker& w : workers)
      threads.emplace_back([&, me = &w] {
        query::Session& s = *sessions_[me->session];
        const bool is_short = me->kind == 2;
        const int mine = is_short ? shorts_wanted : longs_wanted, most = is_short ? most_shorts : most_longs;
        const auto run = [&](const auto& q, std::uint64_t wanted) {
          while (me->done < most && (me->done < mine || !reached(!is_short, is_short ? longs_wanted : shorts_wanted))) {
            const int before = longs_done;
            wrong += totals(q) != wanted;
            if (is_short) me->waited = std::max(me->waited, longs_done - before);
            else ++longs_done;
            me->elsewhere += q.explain().find("went to the cpu") != std::string::npos;
            ++me->done;
          }
        };
        try {
          if (me->kind == 0) run(long_query(s), long_answer);
          else if (me->kind == 1) run(long_sort(s), sorted_answer);
          else run(short_query(s), short_answer);
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  std::array<int, 2> done = {}, elsewhere = {};  // of long and of short queries
  for (const worker& w : workers) {
    const bool is_short = w.kind == 2;
    std::printf("  session %zu, %s: %d queries, %d of them on the CPU, at most %d long ones ended during one of them\n", w.session,
                is_short ? "short" : "long", w.done.load(), w.elsewhere, w.waited);
    EXPECT_GE(w.done, is_short ? shorts_wanted : longs_wanted);
    EXPECT_LT(w.done, is_short ? most_shorts : most_longs) << "the others had no share";
    EXPECT_LT(w.elsewhere, w.done) << "the GPU was never its";
    done[is_short] += w.done;
    elsewhere[is_short] += w.elsewhere;
    // Three threads run long queries: one that started before may end, and one more of each.
    EXPECT_LE(w.waited, 6) << "a short query waited for long ones";
  }
  // All threads of a kind together: one of them may run few, whose luck differs.
  for (const std::size_t kind : {0, 1})
    EXPECT_LE(2 * elsewhere[kind], done[kind]) << "most of the " << (kind ? "short" : "long") << " queries went to the CPU";
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_GT(peak(i), 0u);
    EXPECT_LE(peak(i), budgets[i]);
  }
}

}  // namespace
