// A device that fails in the middle of queries: at each allocation, each launch, each call of a fold. On the driver double, whose
// kernels do nothing, results count only where the CPU computed them; on a GPU all of them do.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/faulty_device.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::all_operators;
using query::gpu_engine::device_kind;

class failing_device : public faulty_device {
 protected:
  auto trades() const { return query::from(data_.trades).as_accelerated().in(*session_); }

  bool on_the_cpu(const std::string& plan) const {
    return session_->state()->history.fallbacks().first > 0 &&
           (plan.find("the last run went to the cpu: ") != std::string::npos || plan.find("cpu: the GPU was lost: ") != std::string::npos);
  }
  // The message of what f throws, which must be an Error.
  template <class Error, class F> static std::string thrown(F f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "another error: " << e.what();
      return {};
    }
    ADD_FAILURE() << "no error";
    return {};
  }
  static void says(const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
};
QUERY_ON_DEVICES(failing_device);

// Or what fails below would not be the device.
TEST_P(failing_device, that_does_not_fail_runs_each_operator) {
  for (const operation& o : each_operator()) {
    SCOPED_TRACE(o.name);
    (void)o.rows();
    EXPECT_EQ(o.explain().find("went to the cpu"), std::string::npos) << o.explain();
  }
}

TEST_P(failing_device, without_memory_at_each_allocation_leaves_nothing_behind) {
  for (const std::size_t block_rows : {std::size_t{0}, std::size_t{2500}}) {
    use(block_rows);
    for (const operation& o : each_operator()) {
      SCOPED_TRACE(o.name);
      const digest wanted = o.rows_on(cpu_);
      const auto begin = memory().counters().allocations;
      const digest first = o.rows();
      if (real()) {
        EXPECT_EQ(first, wanted) << o.explain();
      }
      const auto count = memory().counters().allocations - begin;
      EXPECT_GE(count, 1u) << o.explain();
      // On the double each; on a GPU some for long queries: each has been made to fail by a shorter one.
      for (std::uint64_t k = 1; k <= count; k += real() ? 1 + count / 20 : 1) {
        const auto used = memory().counters().used;
        memory().fail_allocation(k);
        digest mine;
        EXPECT_NO_THROW(mine = o.rows()) << "allocation " << k << " of " << count;
        memory().fail_allocation(0);
        if (real()) {
          EXPECT_EQ(mine, wanted) << "allocation " << k << " of " << count << o.explain();
        }
        // Less, where another query's copy of captured rows was given up for it.
        EXPECT_LE(memory().counters().used, used) << "allocation " << k << " of " << count;
      }
    }
  }
}

TEST_P(failing_device, lost_after_each_launch_makes_the_cpu_run_the_whole_query) {
  const std::size_t n = each_operator().size();
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t launches = 1;
    for (std::uint64_t k = 0; k <= launches; k += !real() || k < 3 ? 1 : 1 + launches / 12) {
      use();
      const operation o = each_operator()[i];
      SCOPED_TRACE(o.name + ", launch " + std::to_string(k) + " of " + std::to_string(launches));
      if (k == 0) {  // as it goes without failures
        const auto before = faulty_->launches();
        (void)o.rows();
        launches = faulty_->launches() - before;
        continue;
      }
      faulty_->break_after_launch(k, for_ever_lost[k % std::size(for_ever_lost)]);
      digest mine;
      EXPECT_NO_THROW(mine = o.rows());
      const bool broken = faulty_->broken();
      faulty_->mend();
      if (!broken) continue;  // another number of launches, by the way in which threads went
      EXPECT_EQ(mine, o.rows_on(cpu_)) << o.explain();
      EXPECT_TRUE(on_the_cpu(o.explain())) << o.explain();
      EXPECT_NE(session_->state()->history.fallbacks().second.find("the device is lost"), std::string::npos) << o.explain();
    }
  }
}

TEST_P(failing_device, lost_at_each_call_of_a_fold_makes_the_cpu_fold) {
  const std::size_t n = folds(data_, *session_).size();
  for (std::size_t i = 0; i < n; ++i) {
    use();
    (void)folds(data_, *session_)[i].value();  // its kernels are loaded: the runs below make as many calls
    for (const bool for_ever : {false, true}) {
      std::uint64_t calls = 1;
      int times_fallen = 0;
      // The fold itself comes last.
      for (std::uint64_t k = 0; k <= calls; k += !real() || for_ever || k < 10 || k + 10 > calls ? 1 : 1 + calls / 12) {
        use();
        const fold_operation f = folds(data_, *session_)[i];
        SCOPED_TRACE(f.name + ", call " + std::to_string(k) + " of " + std::to_string(calls) + (for_ever ? ", for ever" : ""));
        const double wanted = f.value_on(cpu_);
        if (k == 0) {
          const auto before = faulty_->counted();
          const double first = f.value();
          if (real()) {
            EXPECT_EQ(first, wanted);
          }
          EXPECT_NE(f.explain().find(": gpu: "), std::string::npos) << f.explain();
          calls = faulty_->counted() - before;
          continue;
        }
        faulty_->fail_call(k, for_ever ? for_ever_lost[k % std::size(for_ever_lost)] : cuda_result::invalid_value, for_ever);
        double mine = 0;
        EXPECT_NO_THROW(mine = f.value());
        faulty_->mend();
        // The device may also fail when it has given the result. One that is lost leaves nothing for the CPU to go on from.
        const bool fell = f.explain().find(": the last run went to the cpu: ") != std::string::npos;
        times_fallen += fell ? 1 : 0;
        if (real() || (fell && for_ever)) {
          EXPECT_EQ(mine, wanted) << f.explain();
        }
      }
      // On a GPU some of one call's failures are looked for among many calls, most of which the engine can do without.
      if (for_ever || !real()) {
        EXPECT_GT(times_fallen, 0) << folds(data_, *session_)[i].name;
      }
    }
  }
}

// The CPU takes over what would have been an error on the GPU: it must not end the process.
TEST_P(failing_device, makes_a_cpu_take_over_that_checks_divisions) {
  const auto symbol = [](auto t) { return t.symbol; };
  const auto quotient = [](auto t) { return t.id / t.symbol; };  // symbols are 0 to 6
  const auto fails_as = [&](const char* verb, auto run) {
    SCOPED_TRACE(verb);
    // A device that is lost makes the whole query run again, kernels that do not compile make the CPU run a vertex. A GPU that has
    // neither finds the division itself.
    for (const bool lost : {false, true}) {
      if (!real()) {
        compiles_ = lost;
        load_anew();
      }
      use();
      if (!real() && lost) faulty_->break_now(cuda_result::launch_failed);
      says(thrown<query::user_error>([&] { run(trades()); }), {verb, ": division by zero", "failing_device_test.cpp:"});
    }
  };
  fails_as("select", [&](auto q) { (void)q.select(quotient).to_vector(); });
  fails_as("select", [&](auto q) { (void)q.select(quotient).sum(); });
  fails_as("sum", [&](auto q) { (void)q.sum(quotient); });
  fails_as("where", [&](auto q) { (void)q.where([](auto t) { return 7 / t.symbol > 1; }).count(); });
  fails_as("order_by", [&](auto q) { (void)q.order_by(quotient).to_vector(); });
  fails_as("then_by", [&](auto q) { (void)q.order_by(symbol).then_by(quotient).to_vector(); });
  fails_as("group_by", [&](auto q) { (void)q.group_by(quotient).count().to_vector(); });
  fails_as("group_by", [&](auto q) {
    (void)q.group_by(symbol).select([](auto g) { return g.sum([](auto t) { return t.id / t.symbol; }); }).to_vector();
  });
  fails_as("any", [&](auto q) { (void)q.any([](auto t) { return 7 / t.symbol > 100; }); });
  fails_as("distinct_by", [&](auto q) { (void)q.distinct_by(quotient).to_vector(); });
}

TEST_P(failing_device, whose_kernels_do_not_compile_makes_the_cpu_fold) {
  if (real()) GTEST_SKIP() << "on the double alone";
  compiles_ = false;
  for (const fold_operation& f : folds(data_, *session_)) {
    EXPECT_EQ(f.value(), f.value_on(cpu_)) << f.name;
    says(f.explain(), {"the last run went to the cpu: ", "does not compile: on purpose"});
  }
}

TEST_P(failing_device, lost_before_rows_are_read_gives_those_of_the_cpu) {
  const auto by_price = [](auto t) { return t.price; };
  const std::size_t n = data_.trades.size();
  const auto lost = [&] {
    use();
    // Past the last launch there is the way of the rows to the host.
    const auto before = faulty_->launches();
    (void)trades().order_by_descending(by_price).select(by_price).to_vector();
    const auto launches = faulty_->launches() - before;
    use();
    faulty_->break_after_launch(launches, cuda_result::launch_failed);
    return trades().order_by_descending(by_price).select(by_price);
  };
  {
    const auto q = lost();
    std::vector<double> seen;
    q.for_each([&](double p) { seen.push_back(p); });
    ASSERT_EQ(seen.size(), n);
    EXPECT_EQ(seen.front(), data_.trades.back().price);
  }
  {
    const auto q = lost();
    std::vector<double> seen;
    for (const double p : q) seen.push_back(p);
    ASSERT_EQ(seen.size(), n);
    EXPECT_EQ(seen.back(), data_.trades.front().price);
    EXPECT_TRUE(on_the_cpu(q.explain())) << q.explain();
  }
  {
    const auto q = lost();
    EXPECT_EQ(q.first(), data_.trades.back().price);
  }
}

TEST_P(failing_device, that_is_lost_has_cached_rows_computed_again) {
  const auto all = trades().select([](auto t) { return t.price; });
  const auto kept = all.cached();
  (void)kept.to_vector();
  const auto twice = kept.select([](auto x) { return x * 2.0; });
  const auto wanted = digest_of(twice.in(cpu_).to_vector());
  (void)twice.to_vector();
  faulty_->break_now(cuda_result::launch_failed);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(digest_of(twice.to_vector()), wanted) << twice.explain();
    EXPECT_EQ(digest_of(kept.to_vector()), digest_of(all.in(cpu_).to_vector()));
    EXPECT_EQ(kept.count(), data_.trades.size());
    EXPECT_EQ(kept.max(), data_.trades.back().price);
  }
}

TEST_P(failing_device, is_an_error_where_the_gpu_is_demanded) {
  const auto all = trades();
  const auto symbol = [](auto t) { return t.symbol; };
  const auto price = [](auto t) { return t.price; };
  const auto groups = all.require_gpu().group_by(symbol).select([](auto g) { return g.sum([](auto t) { return t.price; }); });
  const auto sorted = all.order_by(price).on(query::engine::gpu).select([](auto t) { return t.id; });
  const auto prices = all.select(price).require_gpu();
  const auto two = all.select(price).reverse().order_by([](auto p) { return p; }).require_gpu();
  const auto more = [](auto q) { return q.select([](auto x) { return x + 1.0; }); };
  const auto loop = all.select(price).require_gpu().do_while(more, query::times(5));
  (void)groups.to_vector(), (void)sorted.to_vector(), (void)prices.sum(), (void)two.to_vector(), (void)loop.to_vector();
  const auto all_fail = [&](std::initializer_list<const char*> why) {
    const auto f = [&](const char* verb, auto run) {
      const std::string message = thrown<query::resource_error>(run);
      says(message, {" while running ", verb, "failing_device_test.cpp:"});
      says(message, why);
    };
    f("group_by", [&] { (void)groups.to_vector(); });
    f("order_by", [&] { (void)sorted.to_vector(); });
    f("select", [&] { (void)prices.to_vector(); });
    f("select", [&] { (void)prices.sum(); });
    f("select", [&] { (void)prices.count(); });
    f("", [&] { (void)loop.to_vector(); });
  };
  faulty_->break_now(cuda_result::launch_failed);
  says(thrown<query::resource_error>([&] { (void)groups.to_vector(); }), {"the device is lost", " while running group_by"});
  // From now on nothing is tried.
  const auto calls = faulty_->refused();
  all_fail({"the GPU was lost: "});
  EXPECT_EQ(faulty_->refused(), calls);
  says(thrown<query::resource_error>([&] { (void)prices.sum(); }), {"for which require_gpu() was said"});
  says(thrown<query::resource_error>([&] { (void)sorted.to_vector(); }), {"which on(engine::gpu) orders to the GPU"});
  // Blocks did not help either.
  faulty_->mend();
  use(0, 4096);
  const auto here = trades();
  says(thrown<query::resource_error>([&] { (void)here.select(price).require_gpu().to_vector(); }), {"while running select", "memory"});
  says(thrown<query::resource_error>([&] { (void)here.select(price).require_gpu().sum(); }), {"while running select", "memory"});
}

// Later queries, of this session and of others of the process, do not try the device again.
TEST_P(failing_device, that_is_lost_is_not_tried_again) {
  const auto prices = trades().select([](auto t) { return t.price; });
  const auto sorted = trades().order_by_descending([](auto t) { return t.price; }).select([](auto t) { return t.id; });
  const auto wanted = digest_of(sorted.in(cpu_).to_vector());
  EXPECT_EQ(session_->gpu_status(), "");
  faulty_->break_now(cuda_result::illegal_address);
  EXPECT_EQ(digest_of(sorted.to_vector()), wanted);
  says(session_->gpu_status(), {"the GPU was lost: cu", ": CUDA"});
  says(sorted.explain(), {"cpu: the GPU was lost: ", "the last run went to the cpu: "});
  says(prices.explain("sum"), {"sum: cpu: the GPU was lost: "});
  const auto refused = faulty_->refused(), counted = faulty_->counted();
  EXPECT_EQ(digest_of(sorted.to_vector()), wanted);
  EXPECT_EQ(prices.max(), data_.trades.back().price);
  EXPECT_EQ(faulty_->refused(), refused);
  EXPECT_EQ(faulty_->counted(), counted);
  const auto before = std::move(session_);
  faulty_->mend();  // as long as it takes to make an engine, which sessions do not do on a device that is lost
  session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
  session_->state()->take_gpu(make_engine(*device_, {std::size_t{64} << 20, 0}, *kernels_));
  const auto mended = faulty_->counted();
  faulty_->break_now(cuda_result::illegal_address);
  EXPECT_EQ(digest_of(trades().select([](auto t) { return t.price; }).to_vector()), digest_of(prices.in(cpu_).to_vector()));
  says(session_->gpu_status(), {"the GPU was lost: "});
  EXPECT_EQ(faulty_->refused(), refused);
  EXPECT_EQ(faulty_->counted(), mended);
  session_.reset();
  faulty_->mend();
}

// In the middle: what ran before was demanded, and its rows are gone.
TEST_P(failing_device, after_each_launch_is_an_error_where_the_gpu_is_demanded) {
  const auto run = [&] {
    const auto prices = trades().select([](auto t) { return t.price; }).require_gpu();
    return digest_of(prices.reverse().order_by([](auto p) { return p; }).to_vector());
  };
  const auto before = faulty_->launches();
  (void)run();
  const auto launches = faulty_->launches() - before;
  for (std::uint64_t k = 1; k <= launches; ++k) {
    use();
    faulty_->break_after_launch(k, for_ever_lost[k % std::size(for_ever_lost)]);
    says(thrown<query::resource_error>([&] { (void)run(); }), {"the device is lost", " while running "});
  }
}

TEST_P(failing_device, that_does_not_compile_is_a_defect_where_the_gpu_is_demanded) {
  if (real()) GTEST_SKIP() << "on the double alone";
  compiles_ = false;
  const auto prices = trades().select([](auto t) { return t.price; }).require_gpu();
  says(thrown<query::internal_error>([&] { (void)prices.to_vector(); }), {"while running select", "does not compile", "require_gpu()"});
  says(thrown<query::internal_error>([&] { (void)prices.max(); }), {"while running select", "does not compile", "require_gpu()"});
}

// What counts in a variable of the program's hands each row out once: the CPU goes on with the rows that the device had taken.
class counting {
 public:
  explicit counting(std::int64_t n) : n_(n) {}
  auto rows(query::Session& session) {
    next_ = 0;
    return query::generate([this]() -> std::optional<std::int64_t> { return next_ < n_ ? std::optional(next_++) : std::nullopt; })
        .as_accelerated()
        .in(session);
  }

 private:
  std::int64_t n_, next_ = 0;
};
std::int64_t sum_below(std::int64_t n) { return n * (n - 1) / 2; }
// Round 2^64: what the double's kernels leave may be any numbers.
std::int64_t sum_of(const std::vector<std::int64_t>& rows) {
  std::uint64_t sum = 0;
  for (const std::int64_t x : rows) sum += static_cast<std::uint64_t>(x);
  return static_cast<std::int64_t>(sum);
}

TEST_P(failing_device, leaves_all_rows_of_a_generator_to_the_cpu) {
  constexpr std::int64_t n = 20'000;
  counting numbers(n);
  const std::vector<std::function<std::pair<std::int64_t, std::string>()>> runs = {
      [&] {
        const auto q = numbers.rows(*session_).select([](auto x) { return x * 2; });
        const std::int64_t sum = q.sum();
        return std::pair(sum / 2, q.explain("sum"));
      },
      [&] {
        const auto q = numbers.rows(*session_).order_by_descending([](auto x) { return x; });
        return std::pair(sum_of(q.to_vector()), q.explain());
      },
      [&] {
        const auto q = numbers.rows(*session_).group_by([](auto x) { return x; }).select([](auto g) { return g.key(); });
        return std::pair(sum_of(q.to_vector()), q.explain());
      }};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::uint64_t calls = 1;
    int times_fallen = 0;
    for (std::uint64_t k = 0; k <= calls; k += !real() || k < 20 ? 1 : 1 + calls / 40) {
      SCOPED_TRACE("query " + std::to_string(i) + ", call " + std::to_string(k) + " of " + std::to_string(calls));
      use(1000);
      const auto before = faulty_->counted();
      if (k) faulty_->fail_call(k, for_ever_lost[k % std::size(for_ever_lost)], true);
      std::pair<std::int64_t, std::string> mine;
      try {
        mine = runs[i]();
      } catch (const query::resource_error& e) {  // the rows had been given, and were lost on the device
        says(e.what(), {"the device is lost", " while running "});
        EXPECT_GT(k, 0u);
        continue;
      }
      const bool broken = faulty_->broken();
      faulty_->mend();
      if (k == 0) calls = faulty_->counted() - before;
      const bool fell = session_->state()->history.fallbacks().first > 0;
      times_fallen += fell ? 1 : 0;
      if (real() || (fell && broken)) {
        EXPECT_EQ(mine.first, sum_below(n)) << mine.second;
      }
    }
    EXPECT_GT(times_fallen, 5) << "query " << i;
  }
}

// More rows than the host keeps for such a case: a fold goes on from its state, which the host has; groups whose table was on the device
// are an error, and not those of the rows that were left.
TEST_P(failing_device, has_all_rows_or_an_error_where_a_generator_has_gone_too_far) {
  constexpr std::int64_t n = 400'000;
  counting numbers(n);
  const auto used = [&] { use(8192, std::size_t{64} << 20, std::size_t{16} << 20); };
  const std::vector<std::function<std::int64_t()>> runs = {
      [&] { return numbers.rows(*session_).select([](auto x) { return x * 2; }).sum() / 2; },
      [&] {
        return sum_of(numbers.rows(*session_).group_by([](auto x) { return x % 5; }).select([](auto g) {
          return g.sum([](auto x) { return x; });
        }).to_vector());
      }};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE("query " + std::to_string(i));
    used();
    const auto before = faulty_->launches();
    (void)runs[i]();
    const auto launches = faulty_->launches() - before;
    ASSERT_GT(launches, 40u);
    for (const std::uint64_t k : {std::uint64_t{1}, launches - 1}) {
      used();
      faulty_->break_after_launch(k, cuda_result::launch_failed);
      if (k == 1) {
        EXPECT_EQ(runs[i](), sum_below(n));
      } else if (i == 0) {
        std::int64_t mine = 0;
        EXPECT_NO_THROW(mine = runs[i]());
        EXPECT_GT(session_->state()->history.fallbacks().first, 0u);
        if (real()) {
          EXPECT_EQ(mine, sum_below(n));
        }
      } else {
        says(thrown<query::resource_error>([&] { (void)runs[i](); }),
             {"the rows of generate (", "failing_device_test.cpp:", "cannot be read a second time", "what read them failed: ",
              "the device is lost"});
      }
    }
  }
}

// What hands its rows out once, as an edge of a dataflow does, is not read a second time: no rows are missing without an error.
TEST_P(failing_device, has_all_rows_of_a_generator_or_an_error) {
  if (!real()) GTEST_SKIP() << "the double groups nothing";
  int next = 0;
  const auto rows = [&] {
    next = 0;
    return query::generate([&next]() -> std::optional<int> { return next < 5000 ? std::optional(next++) : std::nullopt; })
        .as_accelerated()
        .in(*session_)
        .group_by([](auto x) { return x; })
        .select([](auto g) { return g.key(); })
        .reverse();
  };
  const auto before = faulty_->launches();
  const digest wanted = digest_of(rows().to_vector());
  const auto launches = faulty_->launches() - before;
  use();
  faulty_->break_after_launch(launches, cuda_result::launch_failed);
  try {
    EXPECT_EQ(digest_of(rows().to_vector()), wanted);
  } catch (const query::resource_error& e) {
    says(e.what(), {"the device is lost", " while running "});
  }
}

}  // namespace
