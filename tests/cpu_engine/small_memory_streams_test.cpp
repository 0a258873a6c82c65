// Verbs that can hand their rows on as they come, in memory that has no room for tables of them: the rows of a session with enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct Reading {
  std::int64_t time;
  std::int32_t value, station;
};
QUERY_RECORD(Reading, time, value, station);

struct Span_of_readings {
  std::int64_t first, last, total;
};
QUERY_RECORD(Span_of_readings, first, last, total);

namespace {

constexpr std::int32_t rows = 2'000'000;
constexpr std::size_t little_memory = 16u << 20;  // tables of those verbs take 24 MiB and more

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}
const std::vector<Reading>& readings() {
  static const std::vector<Reading> all = [] {
    std::vector<Reading> v;
    for (std::int32_t i = 0; i < rows; ++i) {
      const std::uint64_t x = drawn(static_cast<std::uint64_t>(i));
      v.push_back({std::int64_t{i} * 10, static_cast<std::int32_t>(x % 2000) - 1000, static_cast<std::int32_t>(x >> 40) % 50});
    }
    return v;
  }();
  return all;
}
auto source(const query::Session& s) { return query::from(readings()).in(s); }
auto changed(const query::Session& s) {
  return source(s).select([](auto r) { return make<Reading>(r.time + 1, r.value * 2, r.station); });
}

template <class Q> bool handed_on(const Q& q) {
  return q.explain().find("handed on row by row, as memory had no room for a table") != std::string::npos;
}

// The same query in enough memory and in little. read(q): what a reader makes of its rows.
template <class Make, class Read> void expect_alike(const char* what, Make make, Read read, std::size_t memory = little_memory) {
  const temp_folder at("small_memory_streams_test");
  for (const bool interpret : {false, true}) {
    if (interpret && sanitized) continue;
    SCOPED_TRACE(std::string(what) + (interpret ? ", interpreted" : ""));
    const query::Session large({.threads = 2, .interpret = interpret});
    const auto in_memory = make(large);
    const auto wanted = read(in_memory);
    EXPECT_FALSE(handed_on(in_memory));
    for (const int threads : {1, 2}) {
      if ((interpret || sanitized) && threads != 2) continue;
      SCOPED_TRACE(std::to_string(threads) + " threads");
      const query::Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name(), .interpret = interpret});
      const auto q = make(little);
      EXPECT_TRUE(read(q) == wanted);
      EXPECT_LE(little.memory_peak(), memory);
      EXPECT_EQ(little.memory_used(), 0u);
      EXPECT_TRUE(handed_on(q)) << q.explain();
      EXPECT_TRUE(at.empty());
    }
  }
}

// ---------------------------------------------------------------- readers
constexpr std::uint64_t mix(std::uint64_t h, std::int64_t x) { return (h ^ static_cast<std::uint64_t>(x)) * 0x100000001b3u + (h >> 29); }
std::uint64_t mix(std::uint64_t h, const Reading& r) { return mix(mix(mix(h, r.time), r.value), r.station); }
std::uint64_t mix(std::uint64_t h, const Span_of_readings& r) { return mix(mix(mix(h, r.first), r.last), r.total); }
template <class T> std::uint64_t mix(std::uint64_t h, const std::vector<T>& list) {
  for (const T& x : list) h = mix(h, x);
  return mix(h, static_cast<std::int64_t>(list.size()));
}
// The rows in their order, and how many.
const auto in_order = [](const auto& q) {
  std::pair<std::uint64_t, std::int64_t> all{0, 0};
  q.for_each([&](const auto& r) { all = {mix(all.first, r), all.second + 1}; });
  return all;
};
const auto counted = [](const auto& q) { return q.count(); };

const auto total_of = [](std::span<const Reading> run) {
  Span_of_readings s{run.front().time, run.back().time, 0};
  for (const Reading& r : run) s.total += r.value;
  return s;
};
const auto total = [](auto s) { return s.total; };

TEST(small_memory_streams, windows) {
  const auto windows = [](const query::Session& s) { return source(s).window(5, total_of); };
  expect_alike("in order", windows, in_order);
  expect_alike("counted", windows, counted);
  expect_alike("steps", [](const query::Session& s) { return changed(s).window(7, total_of, 2); }, in_order);
  expect_alike("of a traced function", [](const query::Session& s) {
    return changed(s).window(3, [](auto run) { return query::sum(run, [](auto r) { return r.time - r.value; }); });
  }, in_order);
  expect_alike("longer than a piece", [](const query::Session& s) {
    return changed(s).window(100'000, [](std::span<const Reading> run) { return total_of(run.first(3)); }, 10);
  }, in_order);
  expect_alike("of many rows each", [](const query::Session& s) {
    return source(s).window(4, [](std::span<const Reading> run) { return std::vector<Reading>(run.begin(), run.end()); }, 4);
  }, in_order);
}

TEST(small_memory_streams, chunks) {
  expect_alike("in order", [](const query::Session& s) { return source(s).chunk(2, total_of); }, in_order);
  expect_alike("as lists", [](const query::Session& s) { return changed(s).chunk(3); }, in_order);
  expect_alike("of windows", [](const query::Session& s) {
    return source(s).window(2, total_of).chunk(2, [](std::span<const Span_of_readings> run) { return run.back(); });
  }, in_order);
}

TEST(small_memory_streams, pairs_of_two_sources) {
  expect_alike("zip", [](const query::Session& s) { return source(s).zip(changed(s)); }, [](const auto& q) {
    return q.sum([](auto p) { return p.first.time * 3 + p.second.value; });
  });
  expect_alike("zip of what is there", [](const query::Session& s) {
    return source(s).zip(source(s).skip(1), [](auto a, auto b) { return make<Reading>(b.time - a.time, a.value + b.value, a.station); });
  }, in_order);
  expect_alike("zip of windows", [](const query::Session& s) { return source(s).window(2, total_of).zip(changed(s)); }, counted);
}

TEST(small_memory_streams, rows_one_after_the_other) {
  expect_alike("concat", [](const query::Session& s) { return changed(s).concat(source(s)); }, in_order);
  expect_alike("default_if_empty", [](const query::Session& s) { return changed(s).default_if_empty(Reading{1, 2, 3}); }, in_order);
  expect_alike("skip", [](const query::Session& s) { return changed(s).skip(100'000); }, in_order);
  expect_alike("take", [](const query::Session& s) { return changed(s).take(1'500'000); }, in_order);
  expect_alike("take_while", [](const query::Session& s) {
    return changed(s).take_while([](auto r) { return r.time < 19'000'000; });
  }, in_order);
  expect_alike("skip_while", [](const query::Session& s) {
    return changed(s).skip_while([](auto r) { return r.time < 1'000'000; });
  }, in_order);
}

TEST(small_memory_streams, pairs_of_all_rows) {
  const auto pairs = [](const query::Session& s) {
    return source(s).take(200'000).cross_join(source(s).take(15), [](auto a, auto b) {
      return make<Reading>(a.time * b.time, a.value, b.station);
    });
  };
  expect_alike("sorted", [&](const query::Session& s) { return pairs(s).window(2, total_of); }, in_order);
}

TEST(small_memory_streams, pairs_of_a_condition) {
  const auto pairs = [](const query::Session& s) {
    return source(s).take(200'000).join_where(source(s).take(30), [](auto a, auto b) { return a.value <= b.value; }, [](auto a, auto b) {
      return make<Reading>(a.time * b.time, a.value, b.station);
    });
  };
  expect_alike("windows", [&](const query::Session& s) { return pairs(s).window(2, total_of); }, in_order);
}

TEST(small_memory_streams, readers) {
  const auto windows = [](const query::Session& s) { return source(s).window(5, total_of); };
  expect_alike("sum", windows, [](const auto& q) { return q.sum(total); });
  expect_alike("a loop", [&](const query::Session& s) { return windows(s).chunk(4, [](auto run) { return run.back(); }).skip(5); },
               [](const auto& q) {
                 std::uint64_t all = 0;
                 q.for_each([&](const Span_of_readings& r) { all = mix(all, r); });
                 return all;
               });
  expect_alike("groups", [&](const query::Session& s) {
    return windows(s).group_by([](auto w) { return w.total % 100; }).as_ordered().select([](auto g) {
      return std::pair(g.key(), g.sum([](auto w) { return w.first; }));
    });
  }, [](const auto& q) { return q.to_vector(); });
  expect_alike("distinct", [&](const query::Session& s) { return windows(s).select(total).distinct().as_ordered(); },
               [](const auto& q) { return q.to_vector(); });
  expect_alike("a join", [&](const query::Session& s) {
    return windows(s).join(source(s).take(300), [](auto w) { return w.first; }, [](auto r) { return r.time; },
                           [](auto w, auto r) { return make<Span_of_readings>(w.first, r.time, w.total + r.station); });
  }, in_order);
  expect_alike("the best of it", [&](const query::Session& s) {
    return windows(s).order_by_descending(total).take(10);
  }, in_order);
  expect_alike("what keeps few", [&](const query::Session& s) {
    return windows(s).where([](auto w) { return w.total > 3500; }).reverse();
  }, in_order);
}

TEST(small_memory_streams, sorts_beyond_memory) {
  const temp_folder at("small_memory_streams_test");
  const auto sorted = [](const query::Session& s) { return source(s).window(5, total_of).order_by(total); };
  const query::Session large({.threads = 2}), little({.threads = 2, .memory_limit = 2 * little_memory, .temp_folder = at.name()});
  EXPECT_EQ(in_order(sorted(large)), in_order(sorted(little)));
  EXPECT_LE(little.memory_peak(), 2 * little_memory);
  const auto pairs = [](const query::Session& s) {
    return source(s).take(100'000).cross_join(source(s).take(20), [](auto a, auto b) { return make<Reading>(a.time, b.value, b.station); })
        .order_by([](auto r) { return r.value; });
  };
  EXPECT_EQ(in_order(pairs(large)), in_order(pairs(little)));
  EXPECT_EQ(little.memory_used(), 0u);
}

TEST(small_memory_streams, files_and_loops) {
  const temp_folder at("small_memory_streams_test");
  const query::Session large({.threads = 2}), little({.threads = 2, .memory_limit = little_memory, .temp_folder = at.name()});
  const auto of = [](const query::Session& s) { return changed(s).window(5, total_of, 4); };
  std::vector<std::string> texts;
  for (const query::Session& s : {large, little}) {
    const std::string path = at.name() + "/windows.csv";
    of(s).write_csv(path);
    std::ifstream file(path);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_EQ(texts[0].size(), texts[1].size());
  EXPECT_TRUE(texts[0] == texts[1]);
  std::uint64_t in_a_loop = 0;
  for (const Span_of_readings& r : of(little)) in_a_loop = mix(in_a_loop, r);
  EXPECT_EQ(in_a_loop, in_order(of(large)).first);
  EXPECT_EQ(mix(0, of(little).to_vector()), mix(0, of(large).to_vector()));
  EXPECT_LE(little.memory_peak(), little_memory);
}

// Two readers share the rows, which go to a file where a table has no room.
TEST(small_memory_streams, two_readers_share_rows) {
  const auto twice = [](const query::Session& s) {
    const auto w = source(s).window(5, total_of);
    return w.select(total).concat(w.select(total));
  };
  const query::Session small({.threads = 2, .memory_limit = little_memory});
  EXPECT_EQ(twice(small).sum(), twice(query::Session({.threads = 2})).sum());
  EXPECT_LE(small.memory_peak(), little_memory);
  const query::Session enough({.threads = 2, .memory_limit = 12 * little_memory}), large({.threads = 2});
  const auto q = twice(enough);
  EXPECT_EQ(q.sum(), twice(large).sum());
  EXPECT_FALSE(handed_on(q)) << q.explain();
}

TEST(small_memory_streams, stops_leave_the_session_as_it_was) {
  const query::Session s({.threads = 2, .memory_limit = little_memory});
  const auto failing = source(s).window(2, [](std::span<const Reading> run) {
    if (run.front().time == 15'000'000) throw std::runtime_error("no such window");
    return total_of(run);
  });
  EXPECT_THROW(failing.count(), std::runtime_error);
  EXPECT_THROW(failing.for_each([](const auto&) {}), std::runtime_error);
  EXPECT_EQ(s.memory_used(), 0u);
  const auto windows = source(s).window(5, total_of);
  std::stop_source stop;
  std::int64_t seen = 0;
  EXPECT_THROW(windows.stop_on(stop.get_token()).for_each([&](const auto&) {
    if (++seen == 1'000'000) stop.request_stop();
  }), query::cancelled);
  EXPECT_GE(seen, 1'000'000);
  EXPECT_LT(seen, rows - 100'000);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_THROW(windows.for_each([&](const auto&) { throw std::logic_error("enough"); }), std::logic_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_EQ(windows.count(), rows - 4);
  EXPECT_TRUE(handed_on(windows));
}

// Functions run once for each row, whether or not its table fits.
TEST(small_memory_streams, functions_run_once) {
  for (const std::size_t memory : {little_memory, 32 * little_memory}) {
    const query::Session s({.threads = 2, .memory_limit = memory});
    std::atomic<std::int64_t> calls = 0;
    const auto windows = source(s).select([&](const Reading& r) { return ++calls, r; }).window(5, total_of);
    EXPECT_EQ(windows.sum([](const Span_of_readings& w) { return w.last - w.first; }), (rows - 4) * std::int64_t{40});
    EXPECT_EQ(calls, rows);
    EXPECT_EQ(handed_on(windows), memory == little_memory);
  }
}

}  // namespace
}  // namespace query::tests
