// What happens when the device fails: memory at each allocation in turn, the compiler, launches, the device itself. On
// the driver double, whose kernels do nothing: results mean nothing while it works, and are the CPU's when it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/all_operators.hpp"
#include "gpu_engine/device_lost.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::all_operators;

class faults : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    use(0);
  }
  void use(std::size_t block_rows, std::size_t memory = std::size_t{64} << 20) {
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    engine_ = make_engine(device_, {memory, 0}, kernels_, block_rows);
    session_->add_engine(engine_);
  }
  device_memory& memory() { return session_of(*engine_).memory(); }
  std::size_t used_in_the_end() {
    session_->trim();  // cached rows go when the session next looks
    return memory().counters().used;
  }
  std::vector<operation> each_operator() { return operations(data_, *session_, fake_.calls(), false); }

  // After a failure that the GPU cannot mend: the CPU's rows, and the reason where the user looks for it.
  void goes_to_the_cpu(const operation& o, const std::string& reason) {
    forget_loss(device_);  // or nothing would be tried
    went_to_the_cpu(o, o.rows(), reason);
  }
  void went_to_the_cpu(const operation& o, const digest& mine, const std::string& reason) {
    SCOPED_TRACE(o.name);
    EXPECT_EQ(mine, o.rows_on(cpu_));
    says_why(o, reason);
  }
  static void says_why(const operation& o, const std::string& reason) {
    const std::string plan = o.explain();
    EXPECT_NE(plan.find("the last run went to the cpu: "), std::string::npos) << plan;
    EXPECT_NE(plan.find(reason), std::string::npos) << plan;
  }

  static int times(std::string_view what, std::string_view text) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }

  const sample_rows data_;
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

// Groups over blocks begin with an empty table, also where what empties it first lacks memory for a captured collection.
TEST_F(faults, of_each_allocation_leave_no_table_of_groups_unemptied) {
  use(2500);
  bool emptied = false;
  int grouped = 0;
  fake_.add_generated("init_table", [&](const auto&) { emptied = true; });
  fake_.add_generated("aggregate_rows", [&](const auto&) {
    ++grouped;
    EXPECT_TRUE(emptied);
  });
  const auto middles = query::broadcast(data_.middles);
  const auto q = query::from(data_.spots).as_accelerated().in(*session_).group_by([middles](auto p) {
    return middles.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); });
  }).select([](auto g) { return g.count(); });
  const auto begin = memory().counters().allocations;
  (void)q.to_vector();
  const auto count = memory().counters().allocations - begin;
  EXPECT_GE(grouped, 2);
  for (std::uint64_t k = 1; k <= count; ++k) {
    SCOPED_TRACE("allocation " + std::to_string(k) + " of " + std::to_string(count));
    emptied = false;
    memory().fail_allocation(k);
    EXPECT_NO_THROW((void)q.to_vector());
    memory().fail_allocation(0);
  }
}

// Verbs of whole inputs, in blocks: a lack of memory is answered with less of it, or by the CPU; nothing stays behind.
TEST_F(faults, of_each_allocation_leave_nothing_of_verbs_in_blocks) {
  use(2500);
  const std::vector<std::string> names = {"right_join", "full_join", "group_join", "distinct", "union_with", "except", "aggregate",
                                          "aggregate of one's own, by group"};
  int tried = 0;
  for (const operation& o : each_operator()) {
    if (std::find(names.begin(), names.end(), o.name) == names.end()) continue;
    SCOPED_TRACE(o.name);
    const auto begin = memory().counters().allocations;
    (void)o.rows();
    EXPECT_NE(o.explain().find("blocks of rows"), std::string::npos) << o.explain();
    const auto count = memory().counters().allocations - begin;
    for (std::uint64_t k = 1; k <= count; ++k) {
      memory().fail_allocation(k);
      EXPECT_NO_THROW((void)o.rows()) << "allocation " << k << " of " << count;
      memory().fail_allocation(0);
      EXPECT_EQ(memory().counters().used, 0u) << "allocation " << k << " of " << count;
    }
    ++tried;
  }
  EXPECT_EQ(tried, static_cast<int>(names.size()));
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
  const auto q = query::from(data_.trades).as_accelerated().in(*session_).join(query::from(rows), id, id,
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
  for (const operation& o : each_operator()) goes_to_the_cpu(o, "does not compile: on purpose");
  EXPECT_EQ(used_in_the_end(), 0u);
}

TEST_F(faults, of_launches_are_reported_and_the_cpu_takes_over) {
  fake_.fail_launches(719);  // CUDA_ERROR_LAUNCH_FAILED
  for (const operation& o : each_operator()) goes_to_the_cpu(o, "cuLaunchKernel");
  EXPECT_EQ(used_in_the_end(), 0u);
}

TEST_F(faults, of_pinned_memory_are_reported_and_the_cpu_takes_over) {
  fake_.limit_pinned(0);
  for (const operation& o : each_operator()) goes_to_the_cpu(o, "gpu: ");
  EXPECT_EQ(used_in_the_end(), 0u);
}

// Each request for memory to lock in turn, of a session that has none yet: without a ring's first buffer the CPU takes over, with
// fewer of them transfers are slower and no more.
TEST_F(faults, of_each_pinned_allocation_in_turn_are_reported_or_do_not_matter) {
  for (const std::size_t block_rows : {std::size_t{0}, std::size_t{2500}}) {
    std::vector<std::string> names;
    use(block_rows);
    for (const operation& o : each_operator()) names.push_back(o.name);
    for (const std::string& name : names) {
      std::size_t count = 0;
      bool runs_here = true;
      for (std::size_t k = 0; k <= count && runs_here; ++k) {
        SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(count) + ", blocks of " + std::to_string(block_rows));
        use(block_rows);
        for (const operation& o : each_operator()) {
          if (name != o.name) continue;
          const std::size_t before = fake_.pinned_allocations();
          fake_.fail_pinned(k);
          const digest mine = o.rows();
          fake_.fail_pinned(0);
          const bool fell = o.explain().find("went to the cpu") != std::string::npos;
          if (k == 0) {
            count = fake_.pinned_allocations() - before;
            runs_here = !fell;  // has no form in blocks
          } else if (!fell) {
            EXPECT_TRUE(k > 1 || name == "do_while") << name;  // whose last round went as planned
          } else if (name == "do_while") {
            // How many small buffers a round needs is a matter of time, so it may be the last round alone that lacks one. Those before it
            // ran on the double, whose rows are no rows.
            says_why(o, "no memory to lock");
          } else if (times("gpu: driver double", o.explain()) == 1) {
            went_to_the_cpu(o, mine, "no memory to lock");
          } else {  // another vertex ran here
            EXPECT_NE(o.explain().find("went to the cpu: gpu: "), std::string::npos) << name << o.explain();
          }
        }
        EXPECT_EQ(used_in_the_end(), 0u) << name;
      }
      EXPECT_TRUE(count > 0 || !runs_here) << name;
    }
  }
}

TEST_F(faults, of_the_device_are_reported_and_the_cpu_takes_over) {
  fake_.break_device(cuda_result::ecc_uncorrectable);
  for (const operation& o : each_operator()) goes_to_the_cpu(o, "the device is lost");
  EXPECT_EQ(used_in_the_end(), 0u);
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
    *reinterpret_cast<std::uint64_t*>(read_by(c, R"(= all; \*\(\(u64\*\)p\.w\[(\d+)\]\) = all;)").at(0)) = std::uint64_t{1} << 62;
  });
  const auto trades = query::from(data_.trades).as_accelerated().in(*session_);
  const auto q = trades.join(query::from(data_.symbols), [](auto t) { return t.symbol; }, [](auto s) { return s.id; },
                             [](auto t, auto s) { return t.price * s.rate; });
  goes_to_the_cpu(operation_of("join", q), "more rows than any memory holds");
}

TEST_F(faults, are_forgotten_when_a_run_goes_as_planned) {
  const auto q = query::from(data_.trades).as_accelerated().in(*session_).select([](auto t) { return t.price; });
  compiles_ = false;
  (void)q.to_vector();
  EXPECT_NE(q.explain().find("went to the cpu"), std::string::npos);
  compiles_ = true;
  (void)q.to_vector();
  EXPECT_EQ(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
}

}  // namespace
