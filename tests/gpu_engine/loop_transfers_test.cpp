// On a GPU: what k-means and PageRank copy over the bus does not depend on how many rounds they take, and what a loop does not
// change is brought there, and made a table of, once. Counted where the driver is called.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include <query/query.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/round_recording.hpp"
#include "planned_there.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Place {
  std::array<float, 20> x;
};
QUERY_RECORD(Place, x);
struct Middle {
  std::int64_t id;
  std::array<float, 20> x;
};
QUERY_RECORD(Middle, id, x);
struct Link {
  std::uint32_t from, to;
  double share;
};
QUERY_RECORD(Link, from, to, share);
struct Weight {
  std::uint32_t id;
  double value;
};
QUERY_RECORD(Weight, id, value);

std::size_t copies = 0, bytes = 0, up = 0, launches = 0, graphs = 0, status_reads = 0;
std::map<std::string, std::size_t> launched;  // by the kernel's name
std::map<function_handle, std::string> names;
const driver* real = nullptr;

// The driver with counters before some of its calls.
const driver& counting_driver() {
  static const driver counting = [] {
    driver d = *real;
    d.cuMemcpyHtoDAsync = [](device_address to, const void* from, std::size_t n, stream_handle s) {
      ++copies, bytes += n, up += n;
      return real->cuMemcpyHtoDAsync(to, from, n, s);
    };
    d.cuMemcpyDtoHAsync = [](void* to, device_address from, std::size_t n, stream_handle s) {
      ++copies, bytes += n, status_reads += n == status_words * 8;
      return real->cuMemcpyDtoHAsync(to, from, n, s);
    };
    d.cuLaunchKernel = [](function_handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          stream_handle s, void** arguments, void** extra) {
      ++launches, ++launched[names[f]];
      return real->cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, arguments, extra);
    };
    d.cuModuleGetFunction = [](function_handle* f, module_handle m, const char* name) {
      const int result = real->cuModuleGetFunction(f, m, name);
      if (result == cuda_result::success) names[*f] = name;
      return result;
    };
    if (d.cuGraphLaunch)
      d.cuGraphLaunch = [](graph_program_handle g, stream_handle s) {
        ++graphs;
        return real->cuGraphLaunch(g, s);
      };
    return d;
  }();
  return counting;
}

class loop_transfers : public testing::Test {
 protected:
  void SetUp() override {
    real = driver::find();
    if (!real || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << (real ? compiler::why_not() : driver::why_not());
    on_.emplace(counting_driver(), 0);
    kernels_.emplace(kernel_cache::settings{.headers = embedded_sources(), .options = {}, .folder = {}, .compile = {}});
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->add_engine(make_engine(*on_, {std::size_t{1} << 30, 0}, *kernels_));
  }

  struct cost {
    std::size_t copies, bytes, up, launches, graphs, status_reads;
    std::map<std::string, std::size_t> launched;
  };
  template <class Q> cost of(const Q& q) {
    copies = bytes = up = launches = graphs = status_reads = 0;
    launched.clear();
    (void)q.in(*session_).to_vector();
    return {copies, bytes, up, launches, graphs, status_reads, launched};
  }
  template <class Loop> void stays_on_the_device(Loop loop) {
    (void)of(loop(6));
    const cost few = of(loop(6)), many = of(loop(60));
    EXPECT_EQ(few.copies, many.copies);
    EXPECT_EQ(few.bytes, many.bytes);
    EXPECT_EQ(few.launches, many.launches) << "rounds are graphs";
    EXPECT_EQ(few.graphs, 4u);
    EXPECT_EQ(many.graphs, 58u);
  }

  // The second round reads words of status, and copies nothing else.
  template <class Loop> void copies_no_data_after_the_first_round(Loop loop) {
    (void)of(loop(2));
    const cost one = of(loop(1)), two = of(loop(2));
    EXPECT_EQ(one.up, two.up);
    EXPECT_GT(two.status_reads, one.status_reads);
    EXPECT_EQ(two.copies - one.copies, two.status_reads - one.status_reads);
    EXPECT_EQ(two.bytes - one.bytes, (two.status_reads - one.status_reads) * status_words * 8);
  }

  // loop(limit): goes on while something is above the limit.
  template <class Loop> void stays_on_the_device_while_above(Loop loop, double high, double low) {
    (void)of(loop(high));
    const cost few = of(loop(high)), many = of(loop(low));
    EXPECT_EQ(few.copies, many.copies);
    EXPECT_EQ(few.bytes, many.bytes);
    EXPECT_EQ(few.launches, many.launches) << "rounds are graphs";
    EXPECT_GT(few.graphs, 0u);
    EXPECT_GT(many.graphs, few.graphs) << "the loop with the lower limit takes more rounds";
  }

  std::optional<device> on_;
  std::optional<kernel_cache> kernels_;
  std::optional<query::Session> session_;
};

// A round of k-means: the means of the places nearest to each center.
auto centers_of(const query::Query<Place>& places, const query::Query<Middle>& now) {
  return places
      .select([c = query::broadcast(now)](auto p) {
        return std::pair(c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }), p.x);
      })
      .group_by([](auto a) { return a.first; })
      .select([](auto g) { return query::make<Middle>(g.key(), g.mean([](auto a) { return a.second; })); });
}
// A round of PageRank.
auto spread(const query::Query<Link>& links, const query::Query<Weight>& now, std::uint32_t nodes) {
  return links
      .join(
          now, [](auto l) { return l.from; }, [](auto w) { return w.id; },
          [](auto l, auto w) { return query::make<Weight>(l.to, w.value * l.share); })
      .group_by([](auto w) { return w.id; })
      .select([rest = 0.15 / nodes](auto g) { return query::make<Weight>(g.key(), rest + 0.85 * g.sum([](auto w) { return w.value; })); });
}

TEST_F(loop_transfers, of_k_means_end_with_the_second_round) {
  std::vector<Place> places(50000);
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t d = 0; d < 20; ++d)
      places[i].x[d] = static_cast<float>(i % 10 * 5) + static_cast<float>((i * 31 + d * 17) % 101) * 0.01f;
  std::vector<Middle> start;
  for (std::size_t k = 0; k < 10; ++k) start.push_back({static_cast<std::int64_t>(k), places[k].x});
  const auto points = query::from(places).as_accelerated();
  const auto loop = [&](int rounds) {
    return query::from(start).as_accelerated().do_while(
        [&](query::Query<Middle> now) { return centers_of(points, now); },
        query::times(rounds));
  };
  stays_on_the_device(loop);
  copies_no_data_after_the_first_round(loop);
}

TEST_F(loop_transfers, of_pagerank_end_with_the_second_round) {
  constexpr std::uint32_t nodes = 5000, fan = 8;
  std::vector<Link> links;
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t j = 0; j < fan; ++j) links.push_back({i, j == 0 ? (i + 1) % nodes : (i * 37 + j * 1001) % nodes, 1.0 / fan});
  std::vector<Weight> start;
  for (std::uint32_t i = 0; i < nodes; ++i) start.push_back({i, 1.0 / nodes});
  const auto all = query::from(links).as_accelerated();
  const auto loop = [&](int rounds) {
    return query::from(start).as_accelerated().do_while(
        [&](query::Query<Weight> now) { return spread(all, now, nodes); },
        query::times(rounds));
  };
  stays_on_the_device(loop);
  copies_no_data_after_the_first_round(loop);
}

// What the loop does not change is uploaded once, and its table of keys is built once: of keys that are met once, of keys with
// several rows each, of keys alone.
TEST_F(loop_transfers, of_joins_with_rows_that_stay_are_those_of_one_round) {
  constexpr std::uint32_t n = 20000;
  std::vector<Weight> start, once, twice;
  for (std::uint32_t i = 0; i < n; ++i) start.push_back({i, 1.0 + i % 7});
  for (std::uint32_t i = 0; i < n; ++i) once.push_back({(i * 7 + 3) % n, 0.5 + i % 3});
  for (std::uint32_t i = 0; i < 2 * n; ++i) twice.push_back({i % n, 0.25 + i % 2});
  const auto id = [](auto w) { return w.id; };
  const auto product = [](auto a, auto b) { return query::make<Weight>(a.id, a.value * b.value); };
  const auto check = [&](const char* what, const std::vector<std::string>& builders, auto body) {
    SCOPED_TRACE(what);
    const auto loop = [&](int rounds) { return query::from(start).as_accelerated().do_while(body, query::times(rounds)); };
    copies_no_data_after_the_first_round(loop);
    const cost one = of(loop(1)), many = of(loop(40));
    for (const std::string& kernel : builders) {
      EXPECT_GT(one.launched.count(kernel), 0u) << kernel;
      EXPECT_EQ(one.launched.at(kernel), many.launched.at(kernel)) << kernel;
    }
    EXPECT_GT(many.graphs, 0u);
    const auto key_then_value = [](const Weight& a, const Weight& b) { return std::pair(a.id, a.value) < std::pair(b.id, b.value); };
    for (const int rounds : {1, 3, 40}) {
      auto there = loop(rounds).in(*session_).to_vector(), here = loop(rounds).to_vector();
      EXPECT_TRUE(planned_there(loop(rounds).in(*session_).explain()));
      std::sort(there.begin(), there.end(), key_then_value);
      std::sort(here.begin(), here.end(), key_then_value);
      ASSERT_EQ(there.size(), here.size()) << rounds;
      for (std::size_t i = 0; i < here.size(); ++i) {
        EXPECT_EQ(there[i].id, here[i].id);
        EXPECT_DOUBLE_EQ(there[i].value, here[i].value);
      }
    }
  };
  const auto factors = query::from(once).as_accelerated(), pairs = query::from(twice).as_accelerated();
  check("join", {"build_rows"}, [&](query::Query<Weight> now) { return now.join(factors, id, id, product); });
  check("left_join", {"build_rows"}, [&](query::Query<Weight> now) {
    return now.left_join(factors, id, id, [](auto a, auto b) {
      return query::make<Weight>(a.id, b.has_value() ? a.value * b->value : a.value);
    });
  });
  check("semi_join", {"build_rows"}, [&](query::Query<Weight> now) {
    return now.semi_join(factors, id, id).select([](auto w) { return query::make<Weight>(w.id, w.value * 0.5); });
  });
  check("full_join", {"build_rows"}, [&](query::Query<Weight> now) {
    return now.full_join(factors, id, id, [](auto a, auto b) {
      return query::make<Weight>(a.has_value() ? a->id : decltype(a->id)(0), b.has_value() ? b->value : decltype(b->value)(0.0));
    });
  });
  check("join, repeated keys", {"build_rows", "map_build", "sort_rows"}, [&](query::Query<Weight> now) {
    return now.join(pairs, id, id, product).group_by(id).select([](auto g) {
      return query::make<Weight>(g.key(), g.max([](auto w) { return w.value; }));
    });
  });
  check("group_join", {"map_build", "sort_rows"}, [&](query::Query<Weight> now) {
    return now.group_join(pairs, id, id, [](auto w, auto own) {
      return query::make<Weight>(w.id, w.value * query::sum(own, [](auto p) { return p.value; }));
    });
  });
}

// Until no center moves further than the limit.
TEST_F(loop_transfers, of_k_means_that_converges_end_with_the_second_round) {
  std::vector<Place> places(50000);
  std::uint32_t state = 1;
  for (Place& p : places)
    for (float& x : p.x) x = static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / static_cast<float>(1 << 24);
  std::vector<Middle> start;
  for (std::size_t k = 0; k < 10; ++k) start.push_back({static_cast<std::int64_t>(k), places[k].x});
  const auto points = query::from(places).as_accelerated();
  const auto loop = [&](double limit, const std::vector<Middle>& from) {
    return query::from(from).as_accelerated().do_while(
        [&](query::Query<Middle> now) { return centers_of(points, now).order_by([](auto m) { return m.id; }); },
        [limit](query::Query<Middle> before, query::Query<Middle> after) {
          const auto moves = before.zip(after, [](auto a, auto b) { return query::squared_distance(a.x, b.x); });
          return query::value_of(moves).max() > static_cast<float>(limit);
        },
        500);
  };
  stays_on_the_device_while_above([&](double limit) { return loop(limit, start); }, 1e-3, 1e-6);
  // Sums in another order lead to other centers, of which none moves in a round of the CPU's either.
  const auto there = loop(1e-6, start).in(*session_).to_vector(), next = loop(1e9, there).to_vector();
  ASSERT_EQ(there.size(), start.size());
  ASSERT_EQ(next.size(), start.size());
  for (std::size_t k = 0; k < next.size(); ++k) {
    float moved = 0;
    for (std::size_t d = 0; d < 20; ++d) moved += (next[k].x[d] - there[k].x[d]) * (next[k].x[d] - there[k].x[d]);
    EXPECT_LT(moved, 1e-5f) << k;
  }
}

// Until all weights together change by less than the limit.
TEST_F(loop_transfers, of_pagerank_that_converges_end_with_the_second_round) {
  constexpr std::uint32_t nodes = 5000, fan = 8;
  std::vector<Link> links;
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t j = 0; j < fan; ++j) links.push_back({i, j == 0 ? (i + 1) % nodes : (i * i * 37 + j * 1001) % nodes, 1.0 / fan});
  std::vector<Weight> start;
  for (std::uint32_t i = 0; i < nodes; ++i) start.push_back({i, 1.0 / nodes});
  const auto all = query::from(links).as_accelerated();
  const auto loop = [&](double limit) {
    return query::from(start).as_accelerated().do_while(
        [&](query::Query<Weight> now) { return spread(all, now, nodes); },
        [limit](query::Query<Weight> before, query::Query<Weight> after) {
          const auto id = [](auto w) { return w.id; };
          return query::value_of(before.join(after, id, id, [](auto a, auto b) { return query::abs(a.value - b.value); })).sum() > limit;
        },
        500);
  };
  stays_on_the_device_while_above(loop, 1e-4, 1e-10);
  const auto by_id = [](auto w) { return w.id; };
  const auto here = loop(1e-10).order_by(by_id).to_vector(), there = loop(1e-10).in(*session_).order_by(by_id).to_vector();
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(here[i].value, there[i].value, 1e-8) << i;
}

// A count, and two values of one round against the other.
TEST_F(loop_transfers, of_conditions_on_counts_and_sums_end_with_the_second_round) {
  std::vector<double> rows(40000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 1.0 + static_cast<double>(i % 100);
  const auto halved = [&](auto condition) {
    return query::from(rows).as_accelerated().do_while([](auto now) { return now.select([](auto x) { return x / 2; }); }, condition, 500);
  };
  stays_on_the_device_while_above(
      [&](double limit) {
        return halved(
            [limit](auto, auto after) { return query::value_of(after.where([limit](auto x) { return x > limit; })).count() > 0; });
      },
      1.0, 1e-9);
  stays_on_the_device_while_above(
      [&](double limit) {
        return halved([limit](auto before, auto after) { return query::value_of(before).sum() - query::value_of(after).sum() > limit; });
      },
      1e3, 1e-6);
  const auto twice = halved([](auto, auto after) { return query::value_of(after).any([](auto x) { return x > 20; }); });
  EXPECT_EQ(twice.in(*session_).to_vector(), twice.to_vector());
}

// Rows of captured queries and containers, wherever they lie: they are brought once, and rounds are graphs.
TEST_F(loop_transfers, of_captured_rows_that_stay_are_those_of_one_round) {
  std::vector<Weight> start, rates;
  for (std::uint32_t i = 0; i < 5000; ++i) start.push_back({i, 1.0 + i % 7});
  for (std::uint32_t i = 0; i < 300; ++i) rates.push_back({i * 3, i % 16 * 0.125});
  std::size_t up_once = 0;
  const auto check = [&](const char* what, const auto& c) {
    SCOPED_TRACE(what);
    const auto loop = [&](int rounds) {
      return query::from(start).as_accelerated().do_while(
          [&](query::Query<Weight> now) {
            return now.where([c](auto w) { return c.any(w, [](auto w, auto r) { return r.id == w.id; }); }).select([c](auto w) {
              return query::make<Weight>(w.id, w.value + c.sum(w, [](auto w, auto r) { return query::iff(r.id < w.id, r.value, 0.0); }));
            });
          },
          query::times(rounds));
    };
    (void)of(loop(2));
    const cost one = of(loop(1)), two = of(loop(2)), few = of(loop(8)), many = of(loop(60));
    EXPECT_EQ(one.up, two.up);
    EXPECT_EQ(few.bytes, many.bytes);
    EXPECT_GT(many.graphs, few.graphs);
    EXPECT_EQ(loop(60).in(*session_).explain().find("in each round"), std::string::npos) << loop(60).in(*session_).explain();
    std::vector<Weight> wanted;
    for (Weight w : start) {
      if (w.id % 3 != 0 || w.id >= 900) continue;
      for (int round = 0; round < 60; ++round)
        for (const Weight& r : rates) w.value += r.id < w.id ? r.value : 0;
      wanted.push_back(w);
    }
    const auto got = loop(60).in(*session_).to_vector();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].id, wanted[i].id);
      EXPECT_DOUBLE_EQ(got[i].value, wanted[i].value) << i;  // sums of eighths are exact
    }
    up_once = one.up;
  };
  check("cached", query::broadcast(query::from(rates).as_accelerated().cached()));
  const std::size_t kept = up_once;
  check("not accelerated", query::broadcast(query::from(rates)));
  EXPECT_EQ(up_once - kept, rates.size() * sizeof(Weight));
  check("a container", query::broadcast(rates));
  EXPECT_EQ(up_once - kept, rates.size() * sizeof(Weight));
}

// Cached records lie a field a column. Functions that capture them read them on the device.
TEST_F(loop_transfers, of_captured_cached_rows_are_none) {
  std::vector<Weight> weights, rates;
  for (std::uint32_t i = 0; i < 5000; ++i) weights.push_back({i, i % 7 + 0.5});
  for (std::uint32_t i = 0; i < 3000; ++i) rates.push_back({i * 2, i % 5 + 0.5});
  const auto all = query::from(weights).as_accelerated().cached();
  const auto c = query::broadcast(query::from(rates).as_accelerated().cached());
  const auto q = all.where([c](auto w) { return c.any(w, [](auto w, auto r) { return r.id == w.id && r.value < w.value; }); })
                     .select([c](auto w) { return w.value + c[w.id / 2].value; });
  std::vector<double> wanted;
  for (std::uint32_t i = 0; i < 5000; i += 2)
    if (rates[i / 2].value < weights[i].value) wanted.push_back(weights[i].value + rates[i / 2].value);
  EXPECT_EQ(q.in(*session_).to_vector(), wanted);
  const cost again = of(q);
  EXPECT_EQ(again.up, 0u);
  EXPECT_EQ(again.launched.count("place_columns"), 0u);
  EXPECT_LE(again.bytes, wanted.size() * sizeof(double) + again.status_reads * status_words * 8);
  EXPECT_EQ(q.in(*session_).to_vector(), wanted);
}

}  // namespace
