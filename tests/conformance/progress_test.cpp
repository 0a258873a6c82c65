// Reports of progress: how often they come, and that they go on.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "conformance/engines.hpp"
#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace conformance {
namespace {

const auto itself = [](auto x) { return x; };

struct number_row {
  std::int64_t n = 0;
};
QUERY_RECORD(number_row, n);

// A thread that counts how often it wakes, twenty times a second on a machine that has time for it.
class metronome {
 public:
  metronome() : thread_([this](const std::stop_token& stop) {
    std::unique_lock hold(lock_);
    while (!ended_.wait_for(hold, stop, std::chrono::milliseconds(50), [&] { return stop.stop_requested(); })) ++beats_;
  }) {}
  int beats() const { return beats_; }

 private:
  std::mutex lock_;
  std::condition_variable_any ended_;
  std::atomic<int> beats_ = 0;
  std::jthread thread_;
};

// Reports come while no part of the work ends: the user's function, or the body of the caller's loop, is slow. Ten a second, or half
// as many as a thread wakes meanwhile that only waits: other work on the machine holds up both.
std::atomic<bool> said_done, worked_on;

CONFORMS(progress, comes_ten_times_a_second, "on_progress") {
  using clock = std::chrono::steady_clock;
  const auto check = [&](const char* verb, auto run) {
    SCOPED_TRACE(verb);
    said_done = worked_on = false;
    std::atomic<int> reports = 0;
    std::atomic<double> last = -1;
    const metronome others;
    const auto begin = clock::now();
    run([&](double fraction) {
      ++reports;
      EXPECT_GE(fraction, last.exchange(fraction));
      said_done = fraction >= 1;
    });
    EXPECT_FALSE(worked_on) << "after it was said to be done";
    const std::chrono::duration<double> passed = clock::now() - begin;
    const int beats = others.beats();
#ifndef QUERY_TEST_SANITIZED
    EXPECT_GE(reports, std::min(passed.count() * 10, beats / 2.0)) << passed.count() << " s, " << beats << " beats";
#endif
    EXPECT_EQ(last, 1.0);
  };
  const std::vector<std::int64_t> few = {5, 3, 9, 1, 7, 2, 8, 4, 6, 0};
  const auto slow = [](std::int64_t x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (said_done) worked_on = true;
    return x;
  };
  check("sum", [&](auto report) { source(e, few).on_progress(report).select(query::opaque(slow)).sum(); });
  // Of sources that are made as they are read, and rows that a verb makes of few.
  const auto made = [&](auto report) { return on(e, query::range(std::int64_t{0}, std::int64_t{10})).on_progress(report); };
  check("range", [&](auto report) { made(report).select(query::opaque(slow)).sum(); });
  check("range, filtered", [&](auto report) { made(report).where(query::opaque([&](std::int64_t x) { return slow(x) > 3; })).count(); });
  check("repeat", [&](auto report) { on(e, query::repeat(std::int64_t{7}, 10)).on_progress(report).select(query::opaque(slow)).sum(); });
  check("cross_join", [&](auto report) {
    source(e, few).take(2).on_progress(report).cross_join(source(e, few).take(5), query::opaque([&](std::int64_t a, std::int64_t b) {
      return slow(a + b);
    })).to_vector();
  });
  check("window", [&](auto report) {
    source(e, few).on_progress(report).window(3, [&](std::span<const std::int64_t> of) { return slow(of[0]); }).sum();
  });
  check("order_by", [&](auto report) { source(e, few).on_progress(report).order_by(query::opaque(slow)).to_vector(); });
  check("own order", [&](auto report) {
    source(e, few).on_progress(report).order_by(itself, [&](std::int64_t a, std::int64_t b) { return slow(a) < b; }).to_vector();
  });
  check("the right side of a join", [&](auto report) {
    source(e, few).on_progress(report).join(source(e, few), itself, query::opaque(slow), [](auto a, auto) { return a; }).to_vector();
  });
  check("the result of a join", [&](auto report) {
    source(e, few).on_progress(report).join(source(e, few), itself, itself, query::opaque([&](std::int64_t a, std::int64_t) {
      return slow(a);
    })).to_vector();
  });
  check("left_join", [&](auto report) {
    source(e, few).on_progress(report).left_join(source(e, few), query::opaque(slow), itself, [](auto a, auto) { return a; }).to_vector();
  });
  check("group_join", [&](auto report) {
    source(e, few).on_progress(report).group_join(source(e, few), itself, itself,
                                                  [&](const std::int64_t& a, const std::vector<std::int64_t>&) { return slow(a); }).sum();
  });
  check("join_where", [&](auto report) {
    source(e, few).on_progress(report).take(2).join_where(source(e, few).take(5), [&](const std::int64_t& a, const std::int64_t& b) {
      return slow(a) < b;
    }, [](auto a, auto) { return a; }).to_vector();
  });
  check("asof_join", [&](auto report) {
    source(e, few).on_progress(report).asof_join(source(e, few), query::opaque(slow), itself, [](auto a, auto) { return a; }).to_vector();
  });
  const auto hashed = [&](const std::int64_t& x) { return static_cast<std::size_t>(slow(x)); };
  check("distinct", [&](auto report) { source(e, few).on_progress(report).distinct(std::equal_to<>(), hashed).to_vector(); });
  check("distinct_by", [&](auto report) { source(e, few).on_progress(report).distinct_by(query::opaque(slow)).to_vector(); });
  check("union_with_by", [&](auto report) {
    source(e, few).on_progress(report).union_with_by(source(e, few), query::opaque(slow)).to_vector();
  });
  check("the right side of except_by", [&](auto report) {
    source(e, few).on_progress(report).except_by(source(e, few), query::opaque(slow)).to_vector();
  });
  check("count_by", [&](auto report) { source(e, few).on_progress(report).count_by(query::opaque(slow)).to_vector(); });
  check("over", [&](auto report) {
    source(e, few).on_progress(report).over(query::opaque(slow)).select([](auto x, auto w) { return x + w.row_number(); }).to_vector();
  });
  check("the order of over", [&](auto report) {
    source(e, few).on_progress(report).over().order_by(query::opaque(slow)).select([](auto x, auto w) { return x + w.rank(); }).to_vector();
  });
  check("the function of over", [&](auto report) {
    source(e, few).on_progress(report).over().select([&](const std::int64_t& x, const auto&) { return slow(x); }).to_vector();
  });
  check("chunk", [&](auto report) {
    source(e, few).on_progress(report).chunk(1, [&](std::span<const std::int64_t> of) { return slow(of[0]); }).sum();
  });
  check("do_while", [&](auto report) {
    source(e, few).on_progress(report).do_while([&](auto q) { return q.select(query::opaque(slow)); }, query::times(2)).sum();
  });
  // What these do with rows is the second half of their work.
  check("to_map", [&](auto report) { source(e, few).on_progress(report).to_map(itself, itself, std::equal_to<>(), hashed); });
  check("to_lookup", [&](auto report) { source(e, few).on_progress(report).to_lookup(itself, std::equal_to<>(), hashed); });
  check("first", [&](auto report) { source(e, few).on_progress(report).select(query::opaque(slow)).first(); });
  check("any", [&](auto report) { source(e, few).on_progress(report).any([&](const std::int64_t& x) { return slow(x) == 8; }); });
  check("sequence_equal", [&](auto report) { (void)source(e, few).on_progress(report).select(query::opaque(slow)).sequence_equal(few); });
  check("range-for", [&](auto report) {
    for (const std::int64_t& x : source(e, few).on_progress(report).select(query::opaque(slow))) (void)x;
  });
  check("for_each", [&](auto report) { source(e, few).on_progress(report).for_each([&](const std::int64_t& x) { slow(x); }); });
  const std::vector<number_row> records = {{1}, {2}, {3}, {4}};
  const auto slow_row = [&](const number_row& r) { return number_row{slow(r.n)}; };
  const auto slow_rows = [&](auto report) { return source(e, records).on_progress(report).select(query::opaque(slow_row)); };
  check("to_columns", [&](auto report) { (void)slow_rows(report).to_columns(); });
  check("to_vectors", [&](auto report) { (void)slow_rows(report).to_vectors(); });
  check("describe", [&](auto report) { (void)slow_rows(report).describe(); });
  const query::tests::temp_folder folder("progress");
  check("write_csv", [&](auto report) { slow_rows(report).write_csv(folder.name() + "/rows.csv"); });
  check("write_json_lines", [&](auto report) { slow_rows(report).write_json_lines(folder.name() + "/rows.jsonl"); });
}

// Work of the library itself, on many rows. Reports are counted against the processor time that the work took, shared by as many threads as
// the session has, with a margin of five: on a machine with other work it takes longer, and more reports come.
CONFORMS(progress, comes_during_work_of_the_library, "on_progress", "order_by", "join", "distinct", "write_csv", "to_lookup", "over",
         "group_by") {
  const std::int64_t n = query::tests::sanitized ? 20'000 : 1'000'000;
  std::vector<number_row> rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) rows[static_cast<std::size_t>(i)].n = i * 2'654'435'761 % 4'294'967'291 % n;
  const auto number = [](auto r) { return r.n; };
  const auto check = [&](const char* verb, auto run) {
    SCOPED_TRACE(verb);
    std::mutex lock;
    std::vector<double> reports;
    const std::clock_t begin = std::clock();
    run([&](double fraction) {
      const std::lock_guard hold(lock);
      reports.push_back(fraction);
    });
    const double processor_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const double least = processor_seconds / std::max(e.session.threads(), 1) * 10 / 5;
    EXPECT_GE(static_cast<double>(reports.size()), least) << processor_seconds << " s";
    EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
    ASSERT_FALSE(reports.empty());
    EXPECT_EQ(reports.back(), 1);
    EXPECT_EQ(std::count(reports.begin(), reports.end(), 1), 1) << "said to be done more than once";
  };
  const auto told = [&](auto report) { return source(e, rows).on_progress(report); };
  check("order_by", [&](auto report) { told(report).order_by(number).to_vector(); });
  check("join", [&](auto report) { told(report).join(source(e, rows), number, number, [](auto a, auto) { return a; }).to_vector(); });
  check("distinct", [&](auto report) { told(report).distinct().to_vector(); });
  check("group_by", [&](auto report) { told(report).group_by(number).select([](auto g) { return g.count(); }).to_vector(); });
  check("over", [&](auto report) {
    told(report).over([](auto r) { return r.n % 1000; }).order_by(number).select([](auto r, auto w) { return r.n + w.rank(); }).to_vector();
  });
  check("to_lookup", [&](auto report) { told(report).to_lookup(number); });
  check("to_map", [&](auto report) { told(report).distinct().to_map(number); });
  const query::tests::temp_folder folder("progress_of_many");
  check("write_csv", [&](auto report) { told(report).write_csv(folder.name() + "/rows.csv"); });
}

// The second half of to_map and to_lookup, with keys of the user's equality and with the library's order, is told as it goes on.
CONFORMS(progress, goes_on_while_keys_are_sorted, "on_progress", "to_map", "to_lookup") {
  std::vector<std::int64_t> keys(60'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i * 2'654'435'761u % 4'294'967'291u);
  const auto steps = [&](auto run) {
    std::mutex lock;
    std::set<double> between;
    run([&](double fraction) {
      const std::lock_guard hold(lock);
      if (fraction > 0.5 && fraction < 1) between.insert(fraction);
    });
    return between.size();
  };
  const auto hash = [](const std::int64_t& x) { return static_cast<std::size_t>(x) * 0x9e3779b97f4a7c15; };
  EXPECT_GE(steps([&](auto report) { source(e, keys).on_progress(report).to_map(itself); }), 5u);
  EXPECT_GE(steps([&](auto report) { source(e, keys).on_progress(report).to_lookup(itself); }), 5u);
  EXPECT_GE(steps([&](auto report) { source(e, keys).on_progress(report).to_map(itself, std::equal_to<>(), hash); }), 5u);
  EXPECT_GE(steps([&](auto report) { source(e, keys).on_progress(report).to_lookup(itself, std::equal_to<>(), hash); }), 5u);
}

}  // namespace
}  // namespace conformance
