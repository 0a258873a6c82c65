// What happens when the device fails: memory at each allocation in turn, the compiler, launches, the device itself. On
// the driver double, whose kernels do nothing: results mean nothing while it works, and are the CPU's when it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Trade {
  std::int64_t id;
  std::int32_t symbol;
  double price;
};
QUERY_RECORD(Trade, id, symbol, price);
struct Symbol {
  std::int32_t id;
  double rate;
};
QUERY_RECORD(Symbol, id, rate);
struct Spot {
  std::int64_t id;
  std::array<float, 20> x;
};
QUERY_RECORD(Spot, id, x);

class faults : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (int i = 0; i < 6000; ++i) trades_.push_back({i, i % 7, i * 0.5});
    for (int i = 0; i < 50; ++i) symbols_.push_back({i, 1.0 + i});
    for (int i = 0; i < 3000; ++i) spots_.push_back(spot(i, i * 7 % 101));
    for (int i = 0; i < 30; ++i) middles_.push_back(spot(i, i * 3));
    use(0);
  }
  static Spot spot(int id, int place) {
    Spot s{id, {}};
    s.x.fill(static_cast<float>(place));
    return s;
  }
  void use(std::size_t block_rows, std::size_t memory = std::size_t{64} << 20) {
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    engine_ = make_engine(device_, {memory, 0}, kernels_, block_rows);
    session_->add_engine(engine_);
  }
  device_memory& memory() { return session_of(*engine_).memory(); }

  // Calls f(name, query) for each operator.
  template <class F> void each_operator(F f) {
    const auto all = query::from(trades_).as_accelerated().in(*session_);
    const auto symbol = [](auto t) { return t.symbol; };
    const auto price = [](auto t) { return t.price; };
    f("where, select", all.where([](auto t) { return t.id > 10; }).select(price));
    f("group_by", all.group_by(symbol).select([](auto g) { return g.sum([](auto t) { return t.price; }); }));
    f("group_by, firsts", all.group_by(symbol).select([](auto g) { return g.first([](auto t) { return t.price; }); }));
    f("order_by", all.order_by(price).select([](auto t) { return t.id; }));
    f("top", all.order_by(price).take(5).select([](auto t) { return t.id; }));
    f("join",
      all.join(
          query::from(symbols_), symbol, [](auto s) { return s.id; }, [](auto t, auto s) { return t.price * s.rate; }));
    f("cached", all.select(price).cached());
    const auto other = query::from(symbols_).as_accelerated();
    const auto id = [](auto s) { return s.id; };
    const auto either = [](auto t, auto s) {
      return query::iff(t.has_value(), t->price, 0.5) + query::iff(s.has_value(), s->rate, 0.25);
    };
    f("left_join", all.left_join(other, symbol, id, [](auto t, auto s) { return t.price + query::iff(s.has_value(), s->rate, 0.25); }));
    f("right_join", all.right_join(other, symbol, id, [](auto t, auto s) { return s.rate + query::iff(t.has_value(), t->price, 0.5); }));
    f("full_join", all.full_join(other, symbol, id, either));
    f("semi_join", all.semi_join(other, symbol, id).select(price));
    f("anti_join", all.anti_join(other, symbol, id).select(price));
    f("group_join",
      all.group_join(other, symbol, id, [](auto t, auto own) { return t.price + query::sum(own, [](auto s) { return s.rate; }); }));
    f("cross_join", all.take(100).cross_join(other, [](auto t, auto s) { return t.price * s.rate; }));
    f("distinct", all.select(symbol).distinct());
    f("union_with", all.select(symbol).union_with(other.select(id)));
    f("intersect", all.select(symbol).intersect(other.select(id)));
    f("except", all.select(symbol).except(other.select(id)));
    f("window", all.select(price).window(3, [](auto run) { return query::sum(run); }));
    f("reverse", all.select(price).reverse());
    f("aggregate", all.aggregate([](auto g) { return g.sum([](auto t) { return t.price; }); }));
    f("median", all.group_by(symbol).select([](auto g) { return g.median([](auto t) { return t.price; }); }));
    const auto table = query::broadcast(middles_);
    f("nearest", query::from(spots_)
                     .as_accelerated()
                     .in(*session_)
                     .group_by([table](auto p) {
                       return table.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); });
                     })
                     .select([](auto g) { return g.count(); }));
  }
  // After a failure that the GPU cannot mend: the CPU's rows, and the reason where the user looks for it.
  template <class Q> void goes_to_the_cpu(const char* what, const Q& q, const std::string& reason) {
    went_to_the_cpu(what, q, q.to_vector(), reason);
  }
  template <class Q, class Rows> void went_to_the_cpu(const char* what, const Q& q, Rows mine, const std::string& reason) {
    SCOPED_TRACE(what);
    auto wanted = q.in(cpu_).to_vector();
    std::sort(mine.begin(), mine.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(mine, wanted);
    const std::string plan = q.explain();
    EXPECT_NE(plan.find("the last run went to the cpu: "), std::string::npos) << plan;
    EXPECT_NE(plan.find(reason), std::string::npos) << plan;
  }

  static int times(std::string_view what, std::string_view text) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }

  std::vector<Trade> trades_;
  std::vector<Symbol> symbols_;
  std::vector<Spot> spots_, middles_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  bool compiles_ = true;
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = "", .compile = [this](std::string_view source, int) {
                           if (!compiles_)
                             throw query::internal_error("gpu: a generated kernel does not compile: on purpose");
                           return image_of(source);
                         }}};
  std::shared_ptr<query::runtime::engine> engine_;
  std::unique_ptr<query::Session> session_;
  query::Session cpu_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(faults, of_each_allocation_in_turn_leave_nothing_behind) {
  for (const std::size_t block_rows : {std::size_t{0}, std::size_t{2500}}) {
    use(block_rows);
    each_operator([&](const char* what, const auto& q) {
      SCOPED_TRACE(what);
      const auto begin = memory().counters().allocations;
      (void)q.to_vector();
      const auto count = memory().counters().allocations - begin;
      EXPECT_GE(count, 1u) << q.explain();
      for (std::uint64_t k = 1; k <= count; ++k) {
        const auto used = memory().counters().used;
        memory().fail_allocation(k);
        EXPECT_NO_THROW((void)q.to_vector()) << "allocation " << k << " of " << count;
        memory().fail_allocation(0);
        EXPECT_EQ(memory().counters().used, used) << "allocation " << k << " of " << count;
      }
    });
  }
}

// Build rows of a large join are scattered where there is memory for that; where there is not, they build the table as they lie.
TEST_F(faults, of_memory_to_scatter_by_leave_a_large_join_on_the_gpu) {
  use(0, std::size_t{800} << 20);
  std::vector<Trade> rows(1'100'000);
  for (int i = 0; i < 1'100'000; ++i) rows[static_cast<std::size_t>(i)] = {i, i % 7, i * 0.5};
  int built = 0, scattered = 0, built_scattered = 0;
  fake_.add_generated("build_rows", [&](const auto&) { ++built; });
  fake_.add_generated("scatter_rows", [&](const auto&) { ++scattered; });
  fake_.add_generated("build_scattered", [&](const auto&) { ++built_scattered; });
  const auto id = [](auto t) { return query::cast<std::int64_t>(t.id); };
  const auto q = query::from(trades_).as_accelerated().in(*session_).join(query::from(rows), id, id,
                                                                         [](auto, auto t) { return t.price; })
                     .as_ordered();  // the smaller side would be the build side
  const auto begin = memory().counters().allocations;
  (void)q.to_vector();
  const auto count = memory().counters().allocations - begin;
  EXPECT_EQ(built, 1);  // of a sample
  EXPECT_EQ(scattered, 1);
  EXPECT_EQ(built_scattered, 1);
  // From the last allocation back to one of those that only the scattered rows need.
  bool without = false;
  const auto used = memory().counters().used;
  for (std::uint64_t k = count; k > 0 && !without; --k) {
    built = scattered = built_scattered = 0;
    memory().fail_allocation(k);
    EXPECT_NO_THROW((void)q.to_vector()) << "allocation " << k << " of " << count;
    memory().fail_allocation(0);
    EXPECT_EQ(memory().counters().used, used) << "allocation " << k << " of " << count;
    without = built == 2 && scattered == 0;
  }
  EXPECT_TRUE(without);
  EXPECT_EQ(q.explain().find("the last run went to the cpu"), std::string::npos) << q.explain();
}

TEST_F(faults, of_the_compiler_are_reported_and_the_cpu_takes_over) {
  compiles_ = false;
  each_operator([&](const char* what, const auto& q) { goes_to_the_cpu(what, q, "does not compile: on purpose"); });
  EXPECT_EQ(memory().counters().used, 0u);
}

TEST_F(faults, of_launches_are_reported_and_the_cpu_takes_over) {
  fake_.fail_launches(719);  // CUDA_ERROR_LAUNCH_FAILED
  each_operator([&](const char* what, const auto& q) { goes_to_the_cpu(what, q, "cuLaunchKernel"); });
  EXPECT_EQ(memory().counters().used, 0u);
}

TEST_F(faults, of_pinned_memory_are_reported_and_the_cpu_takes_over) {
  fake_.limit_pinned(0);
  each_operator([&](const char* what, const auto& q) { goes_to_the_cpu(what, q, "gpu: "); });
  EXPECT_EQ(memory().counters().used, 0u);
}

// Each request for memory to lock in turn, of a session that has none yet: without a ring's first buffer the CPU takes over, with
// fewer of them transfers are slower and no more.
TEST_F(faults, of_each_pinned_allocation_in_turn_are_reported_or_do_not_matter) {
  for (const std::size_t block_rows : {std::size_t{0}, std::size_t{2500}}) {
    std::vector<std::string> names;
    use(block_rows);
    each_operator([&](const char* what, const auto&) { names.push_back(what); });
    for (const std::string& name : names) {
      std::size_t count = 0;
      bool runs_here = true;
      for (std::size_t k = 0; k <= count && runs_here; ++k) {
        SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(count) + ", blocks of " + std::to_string(block_rows));
        use(block_rows);
        each_operator([&](const char* what, const auto& q) {
          if (name != what) return;
          const std::size_t before = fake_.pinned_allocations();
          fake_.fail_pinned(k);
          auto mine = q.to_vector();
          fake_.fail_pinned(0);
          const bool fell = q.explain().find("went to the cpu") != std::string::npos;
          if (k == 0) {
            count = fake_.pinned_allocations() - before;
            runs_here = !fell;  // has no form in blocks
          } else if (!fell) {
            EXPECT_GT(k, 1u) << what;
          } else if (times("gpu: driver double", q.explain()) == 1) {
            went_to_the_cpu(what, q, std::move(mine), "no memory to lock");
          } else {  // another vertex ran here
            EXPECT_NE(q.explain().find("no memory to lock"), std::string::npos) << what << q.explain();
          }
        });
        EXPECT_EQ(name == "cached" ? 0u : memory().counters().used, 0u) << name;  // cached rows go when the session next looks
      }
      EXPECT_TRUE(count > 0 || !runs_here) << name;
    }
  }
}

TEST_F(faults, of_the_device_are_reported_and_the_cpu_takes_over) {
  fake_.break_device(cuda_result::ecc_uncorrectable);
  each_operator([&](const char* what, const auto& q) { goes_to_the_cpu(what, q, "the device is lost"); });
  EXPECT_EQ(memory().counters().used, 0u);
}

// A key that most rows of both sides have: bytes of 2^62 pairs are none in 64 bits.
TEST_F(faults, of_pairs_that_no_memory_holds_are_reported_and_the_cpu_takes_over) {
  using call = driver_double::generated_call;
  // Parameters that the program reads, as its text tells them.
  const auto read_by = [](const call& c, const std::string& text) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(c.program, found, std::regex(text))) << c.program;
    std::vector<std::uint64_t> words;
    for (std::size_t i = 1; i < found.size(); ++i) words.push_back(c.words.at(std::stoul(found[i])));
    return words;
  };
  fake_.add_generated("build_rows", [&](const call& c) {  // two rows of one key
    *reinterpret_cast<std::uint32_t*>(read_by(c, R"(build_unique<4>\([^;]*\(u32\*\)p\.w\[(\d+)\])").at(0)) = 1;
  });
  fake_.add_generated("scan_output", [&](const call& c) {
    const auto w = read_by(c, R"(__syncthreads\(\);\s*scan_blocks\(p\.w\[(\d+)\], \(\(u64\*\)p\.w\[(\d+)\]\))");
    reinterpret_cast<std::uint64_t*>(w.at(1))[w.at(0)] = std::uint64_t{1} << 62;
  });
  const auto q = query::from(trades_).as_accelerated().in(*session_).join(
      query::from(symbols_), [](auto t) { return t.symbol; }, [](auto s) { return s.id; }, [](auto t, auto s) { return t.price * s.rate; });
  goes_to_the_cpu("join", q, "more rows than any memory holds");
}

TEST_F(faults, are_forgotten_when_a_run_goes_as_planned) {
  const auto q = query::from(trades_).as_accelerated().in(*session_).select([](auto t) { return t.price; });
  compiles_ = false;
  (void)q.to_vector();
  EXPECT_NE(q.explain().find("went to the cpu"), std::string::npos);
  compiles_ = true;
  (void)q.to_vector();
  EXPECT_EQ(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
}

TEST_F(faults, no_query_of_a_thousand_leaves_memory_or_asks_for_more) {
  each_operator([&](const char*, const auto& q) { (void)q.to_vector(); });
  each_operator([&](const char*, const auto& q) { (void)q.to_vector(); });
  const auto before = memory().counters();
  for (int i = 0; i < 45; ++i) each_operator([&](const char*, const auto& q) { (void)q.to_vector(); });
  const auto after = memory().counters();
  EXPECT_EQ(after.used, before.used);
  EXPECT_EQ(after.driver_allocations, before.driver_allocations);
  EXPECT_GT(after.allocations, before.allocations + 1000);
}

}  // namespace
