// What the cost model makes of loops, cached rows, searches for the nearest row, apply, streams and ranges, under fixed rates.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/fixed_rates.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "gpu_engine/plans_of_runs.hpp"
#include "gpu_engine/temporary_folder.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Place {
  std::array<float, 16> x;
};
QUERY_RECORD(Place, x);
struct Middle {
  std::int64_t id;
  std::array<float, 16> x;
};
QUERY_RECORD(Middle, id, x);
struct Amount {
  std::uint32_t id;
  std::uint32_t of;
  double value;
};
QUERY_RECORD(Amount, id, of, value);

class placement_together : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    use(fixed_rates());
  }
  void use(const rates& r) {
    engine_ = make_engine(device_, {std::size_t{1} << 30, 0}, kernels_);
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    expect_rates(r, *engine_, *session_);
    session_->add_engine(engine_);
  }
  template <class T> auto rows(const std::vector<T>& v) { return query::from(v).as_accelerated().in(*session_); }

  // The first line of a plan that tells where `verb` runs, from "cpu:" or "gpu:" on.
  static std::string engine_line(const std::string& plan, const std::string& verb) {
    for (std::size_t at = 0; at < plan.size();) {
      const std::size_t end = std::min(plan.find('\n', at), plan.size());
      const std::string line = plan.substr(at, end - at);
      if (const std::size_t v = line.find(verb); v != std::string::npos && line.find("pu: ", v) != std::string::npos)
        return line.substr(line.find("pu: ", v) - 1);
      at = end + 1;
    }
    return "none in\n" + plan;
  }
  static bool says(const std::string& line, const std::string& words) { return line.find(words) != std::string::npos; }

  auto kmeans(std::size_t points, int rounds) {
    points_.resize(points);
    middles_.resize(64);
    const auto all = rows(points_);
    return rows(middles_).do_while(
        [all](query::Query<Middle> now) {
          const auto c = query::broadcast(now);
          return all.group_by([c](auto p) { return c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); })
              .select([](auto g) { return query::make<Middle>(g.key(), g.mean([](auto p) { return p.x; })); });
        },
        query::times(rounds));
  }
  auto shares(const std::vector<Amount>& edges, std::vector<Amount>& start, int rounds) {
    const auto all = rows(edges);
    return rows(start).do_while(
        [all](query::Query<Amount> now) {
          return all
              .join(
                  now, [](auto e) { return e.id; }, [](auto r) { return r.id; },
                  [](auto e, auto r) { return query::make<Amount>(e.of, e.of, r.value * e.value); })
              .group_by([](auto r) { return r.id; })
              .select([](auto g) { return query::make<Amount>(g.key(), 0u, g.sum([](auto r) { return r.value; })); });
        },
        query::times(rounds));
  }

  std::vector<Place> points_;
  std::vector<Middle> middles_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) {
                           const std::string image = "image:" + std::string(source);
                           compiled result;
                           result.cubin.assign(reinterpret_cast<const std::byte*>(image.data()),
                                               reinterpret_cast<const std::byte*>(image.data() + image.size() + 1));
                           return result;
                         }}};
  std::shared_ptr<query::runtime::engine> engine_;
  std::optional<query::Session> session_;
};

TEST_F(placement_together, small_loops_stay_and_large_ones_go) {
  const std::string small = kmeans(1000, 10).explain(), large = kmeans(1000000, 10).explain();
  EXPECT_TRUE(says(engine_line(small, "group_by"), "cpu: not on gpu: the loop, 10 rounds: ")) << small;
  EXPECT_EQ(engine_line(large, "group_by").substr(0, 4), "gpu:") << large;
  EXPECT_TRUE(says(engine_line(large, "do_while"), "10 rounds: ")) << large;
  EXPECT_TRUE(says(engine_line(large, "do_while"), " on the GPU, ")) << large;
}

TEST_F(placement_together, what_does_not_change_is_brought_once) {
  // One pass over rows of the host costs more than the CPU needs; many passes over them do not.
  rates r = fixed_rates();
  r.up = 2e9;
  r.row[static_cast<std::size_t>(operation::join)] = 0.4e-9;
  r.row[static_cast<std::size_t>(operation::group)] = 0.4e-9;
  use(r);
  const std::vector<Amount> edges(3000000);
  std::vector<Amount> start(100000);
  const std::string few = shares(edges, start, 2).explain(), many = shares(edges, start, 500).explain();
  EXPECT_TRUE(says(few, "not on gpu: the loop, 2 rounds: ")) << few;
  EXPECT_FALSE(says(many, "not on gpu: the loop")) << many;
  EXPECT_TRUE(says(many, "500 rounds: ")) << many;
}

TEST_F(placement_together, tables_of_build_sides_that_stay_are_made_once) {
  // A table costs the device as much as hundreds of them the CPU, which makes them anew each round.
  rates r = fixed_rates();
  r.device_memory = 1e9;
  use(r);
  const std::vector<Amount> many(3000000);
  std::vector<Amount> few(1000);
  const auto all = rows(many);
  const auto id = [](auto a) { return a.id; };
  const auto loop = [&](auto body) { return rows(few).do_while(body, query::times(1000)).explain(); };
  const std::string stage = loop([&](query::Query<Amount> now) { return now.semi_join(all, id, id); });
  EXPECT_FALSE(says(stage, "not on gpu: the loop")) << stage;
  EXPECT_TRUE(says(stage, "1000 rounds: ")) << stage;
  const std::string vertex = loop([&](query::Query<Amount> now) {
    return now.group_join(all, id, id, [](auto a, auto matches) {
      return query::make<Amount>(a.id, a.of, query::cast<double>(matches.size()));
    });
  });
  EXPECT_FALSE(says(vertex, "not on gpu: the loop")) << vertex;
  EXPECT_TRUE(says(vertex, "1000 rounds: ")) << vertex;

  const auto read = query::broadcast(std::vector<std::uint32_t>{1, 2, 3});
  const std::string anew = loop([&](query::Query<Amount> now) {
    return now.semi_join(all, [read](auto a) { return read[a.id % 3u]; }, [](auto a) { return a.id; });
  });
  EXPECT_TRUE(says(anew, "not on gpu: the loop, 1000 rounds: ")) << "keys by what a round may change: " << anew;
  const std::string changes = loop([&](query::Query<Amount> now) { return all.semi_join(now, id, id); });
  EXPECT_TRUE(says(changes, "not on gpu: the loop, 1000 rounds: ")) << changes;
}

TEST_F(placement_together, a_loop_on_the_gpu_by_order_is_not_weighed) {
  points_.resize(1000);
  const auto all = rows(points_);
  const auto once = all.do_while([](auto p) { return p.order_by([](auto x) { return x.x[0]; }); }, query::times(3));
  EXPECT_TRUE(says(once.explain(), "not on gpu: the loop, 3 rounds: ")) << once.explain();
  const auto ordered =
      all.do_while([](auto p) { return p.order_by([](auto x) { return x.x[0]; }).on(query::engine::gpu); }, query::times(3));
  EXPECT_EQ(engine_line(ordered.explain(), "order_by").substr(0, 4), "gpu:") << ordered.explain();
}

TEST_F(placement_together, rounds_that_a_condition_ends_are_guessed) {
  points_.resize(1000000);
  const auto difference = [](auto a, auto b) { return a.x[0] - b.x[0]; };
  const auto moved = [difference](auto before, auto after) { return query::value_of(before.zip(after, difference)).max() > 0.5f; };
  const auto loop = rows(points_).do_while([](auto p) { return p.order_by([](auto x) { return x.x[0]; }); }, moved, 100);
  EXPECT_TRUE(says(engine_line(loop.explain(), "do_while"), "some 10 rounds: ")) << loop.explain();
}

TEST_F(placement_together, a_loop_is_charged_for_its_kernels_until_it_has_lost_as_much) {
  const temporary_folder folder;
  costs_of(*engine_).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  const auto loop = kmeans(300000, 10);
  const std::string first = loop.explain();
  EXPECT_TRUE(says(engine_line(first, "group_by"), " to compile it")) << first;
  for (int i = 0; i < 300; ++i) ASSERT_EQ(loop.explain(), first) << "looking costs nothing";
  int refused = 1;
  while (refused < 1000 && says(plan_of_run(loop, *session_), "not on gpu: the loop")) ++refused;
  EXPECT_GT(refused, 1);
  EXPECT_LT(refused, 300) << loop.explain();
}

TEST_F(placement_together, cached_rows_lie_where_their_readers_run) {
  rates r = fixed_rates();
  r.up = 1e9;  // a slow bus, and readers that do little
  r.launch = 1e-3;
  use(r);
  const std::vector<Amount> amounts(200000);
  const auto light = rows(amounts).cached().where([](auto a) { return a.value > 1.0; });
  EXPECT_TRUE(says(engine_line(light.explain(), "cached"), "cpu: not on gpu: with what reads it: ")) << light.explain();
  use(fixed_rates());
  const std::vector<Amount> many(3000000);
  const auto heavy = rows(many).cached().order_by([](auto a) { return a.value; });
  EXPECT_EQ(engine_line(heavy.explain(), "cached").substr(0, 4), "gpu:") << heavy.explain();
  EXPECT_EQ(engine_line(rows(amounts).cached().explain(), "cached").substr(0, 4), "gpu:") << "for queries to come";
}

TEST_F(placement_together, searches_for_the_nearest_row_have_a_rate_of_their_own) {
  points_.resize(2000000);
  const std::vector<Middle> table(256), tiny(4);
  const auto nearest = [&](const std::vector<Middle>& among) {
    const auto c = query::broadcast(among);
    return rows(points_)
        .select([c](auto p) { return c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); })
        .explain();
  };
  EXPECT_EQ(engine_line(nearest(table), "collect").substr(0, 4), "gpu:") << nearest(table);
  rates r = fixed_rates();
  r.row[static_cast<std::size_t>(operation::nearest)] = 1e-15;
  use(r);
  EXPECT_EQ(engine_line(nearest(table), "collect").substr(0, 4), "cpu:") << "the CPU's rate of searches counts: " << nearest(table);
}

TEST_F(placement_together, apply_is_weighed_by_its_bytes) {
  const auto doubled = [&](const std::vector<double>& v) {
    return rows(v)
        .apply([](std::span<const double> x) { return std::vector<double>(x.begin(), x.end()); },
               query::on_gpu([](auto& x) { (void)x.results(x.size()); }))
        .explain();
  };
  const std::vector<double> few(1000), many(5000000);
  EXPECT_EQ(engine_line(doubled(few), "apply").substr(0, 4), "cpu:") << doubled(few);
  EXPECT_EQ(engine_line(doubled(many), "apply").substr(0, 4), "gpu:") << doubled(many);
}

// The rows of partitions need not come down where an apply reads them there.
TEST_F(placement_together, partitions_are_made_where_their_apply_runs) {
  rates r = fixed_rates();
  r.down = 2e9;
  r.row[static_cast<std::size_t>(operation::join)] = 3e-9;
  use(r);
  const std::vector<Amount> many(3000000);
  const auto parts = rows(many).hash_partitioned_by([](auto a) { return a.id; }, 8);
  const auto host = [](std::span<const Amount> x) { return std::vector<std::size_t>{x.size()}; };
  const auto there = parts.apply(host, query::on_gpu([](auto& x) { (void)x.results(0); })).explain();
  EXPECT_EQ(engine_line(there, "hash_partitioned_by").substr(0, 4), "gpu:") << there;
  EXPECT_EQ(engine_line(there, "apply").substr(0, 4), "gpu:") << there;
  const auto here = parts.apply(host).explain();
  EXPECT_EQ(engine_line(here, "hash_partitioned_by").substr(0, 4), "cpu:") << here;
  EXPECT_EQ(engine_line(rows(many).partitioned(8).apply(host).explain(), "partitioned").substr(0, 4), "cpu:") << "rows as they lie";
}

TEST_F(placement_together, ranges_need_no_bus_and_streams_are_taken_for_long) {
  rates r = fixed_rates();
  r.up = 1e8;
  use(r);
  const auto groups = [&](const auto& q) {
    return q.as_accelerated().in(*session_).group_by([](auto i) { return i % 100; }).select([](auto g) { return g.count(); }).explain();
  };
  EXPECT_EQ(engine_line(groups(query::range(0, 20000000)), "group_by").substr(0, 4), "gpu:");
  EXPECT_EQ(engine_line(groups(query::range(0, 2000)), "group_by").substr(0, 4), "cpu:");
  const auto numbers = query::generate([i = 0]() mutable { return i < 10 ? std::optional(i++) : std::nullopt; });
  EXPECT_EQ(engine_line(groups(numbers), "group_by").substr(0, 4), "cpu:") << "a bus this slow is worth no stream";
  use(fixed_rates());
  EXPECT_EQ(engine_line(groups(numbers), "group_by").substr(0, 4), "gpu:") << groups(numbers);
}

TEST_F(placement_together, keys_that_can_have_few_values_make_few_groups) {
  rates r = fixed_rates();
  r.row[static_cast<std::size_t>(operation::group_few)] = 0.05e-9;
  use(r);
  const std::vector<Amount> amounts(3000000);
  const auto placed = [&](auto key) {
    const auto sums = rows(amounts).group_by(key).select([](auto g) { return g.sum([](auto a) { return a.value; }); });
    return engine_line(sums.explain(), "group_by").substr(0, 4);
  };
  EXPECT_EQ(placed([](auto a) { return a.id; }), "gpu:") << "nobody knows";
  EXPECT_EQ(placed([](auto a) { return a.id % 100u; }), "cpu:");
  EXPECT_EQ(placed([](auto a) { return a.id % 1000000u; }), "gpu:");
  EXPECT_EQ(placed([](auto a) { return a.value > 5; }), "cpu:");
  EXPECT_EQ(placed([](auto a) { return std::tuple(a.id & 7u, a.value > 5); }), "cpu:");
  EXPECT_EQ(placed([](auto a) { return std::tuple(a.id % 100u, a.of); }), "gpu:");
}

TEST_F(placement_together, captured_collections_are_counted) {
  const std::vector<double> small(10), large(2000);
  const std::vector<Amount> amounts(10);
  const auto operations = [&](const std::vector<double>& among) {
    const auto c = query::broadcast(among);
    const auto q = rows(amounts).select([c](auto a) { return c.sum(a, [](auto a, auto x) { return a.value * x; }); });
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.separate_result = true, .gpu_status = ""});
    const auto w = work_of(*g->vertices.front());
    double n = 0;
    for (const step& s : w ? w->steps : std::vector<step>()) n += s.rows * s.operations;
    return n;
  };
  EXPECT_GT(operations(large), 50 * operations(small));
  EXPECT_GT(operations(small), 0);
}

}  // namespace
