// Which functions are searches for the nearest row of a table, and that their kernels compile. Needs no GPU.
#include <gtest/gtest.h>

#include <query/query.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/nvrtc.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/nearest.hpp"
#include "planner/machine_graph.hpp"

namespace {

using namespace query::gpu_engine;

template <std::size_t D> struct Spot {
  std::int64_t id;
  std::array<float, D> x;
};
using Spot3 = Spot<3>;
using Spot20 = Spot<20>;
using Spot40 = Spot<40>;
using Spot128 = Spot<128>;
using Spot130 = Spot<130>;
QUERY_RECORD(Spot3, id, x);
QUERY_RECORD(Spot20, id, x);
QUERY_RECORD(Spot40, id, x);
QUERY_RECORD(Spot128, id, x);
QUERY_RECORD(Spot130, id, x);
struct Corner {
  std::int32_t tag;
  float x, y, z;
  double weight;
};
QUERY_RECORD(Corner, tag, x, y, z, weight);

template <class T, class F> auto nearest_by(F f) {
  static const std::vector<T> rows(100), middles(30);
  const auto c = query::broadcast(middles);
  return query::from(rows).as_accelerated().group_by([c, f](auto p) { return c.arg_min(p, f); }).select([](auto g) {
    return g.count();
  });
}

template <class Q, class F> void each_group_by(const Q& q, F f) {
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  int seen = 0;
  for (const auto& v : g->vertices)
    if (v->node && v->node->what == query::detail::verb::group_by) ++seen, f(*v);
  EXPECT_EQ(seen, 1);
}

template <class Q> std::optional<nearest_search> search_in(const Q& q) {
  std::optional<nearest_search> found;
  each_group_by(q, [&](const query::planner::vertex& v) {
    kernel_source k;
    const query::ir::type* row = source_row(v.inputs.front());
    const auto f = find_nearest(k, v.inputs.front(), {row, {{0, row}}}, v.node);
    if (f) found = f->search;
  });
  return found;
}

TEST(nearest_search, is_found_however_the_distance_is_written) {
  const auto by_name = search_in(nearest_by<Spot20>([](auto p, auto c) { return query::squared_distance(p.x, c.x); }));
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->dims, 20u);
  EXPECT_EQ(by_name->point, 8u);
  EXPECT_EQ(by_name->place, 8u);
  EXPECT_TRUE(search_in(nearest_by<Spot20>([](auto p, auto c) { return query::squared_distance(c.x, p.x); })));
  EXPECT_TRUE(search_in(nearest_by<Spot20>([](auto p, auto c) {
    using namespace query::operators;
    const auto d = p.x - c.x;
    return query::dot(d, d);
  })));
  EXPECT_TRUE(search_in(nearest_by<Spot20>([](auto p, auto c) {
    using namespace query::operators;
    return query::norm(p.x - c.x);
  })));
  const auto by_loop = search_in(nearest_by<Spot20>([](auto p, auto c) {
    auto s = (p.x[0] - c.x[0]) * (p.x[0] - c.x[0]);
    for (std::size_t i = 1; i < 20; ++i) s = s + (p.x[i] - c.x[i]) * (p.x[i] - c.x[i]);
    return s;
  }));
  ASSERT_TRUE(by_loop);
  EXPECT_EQ(by_loop->dims, 20u);
  EXPECT_GE(by_loop->additions, 20u);
  const auto of_scalars = search_in(nearest_by<Corner>([](auto p, auto c) {
    return (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z);
  }));
  ASSERT_TRUE(of_scalars);
  EXPECT_EQ(of_scalars->dims, 3u);
  EXPECT_EQ(of_scalars->point, 4u);
}

TEST(nearest_search, is_not_seen_in_other_sums) {
  EXPECT_FALSE(search_in(
      nearest_by<Corner>([](auto p, auto c) { return (p.x - c.x) * (p.x - c.y) + (p.y - c.y) * (p.y - c.y); })));
  EXPECT_FALSE(search_in(nearest_by<Corner>([](auto p, auto c) {
    return (p.x - c.x) * (p.x - c.x) + (p.z - c.z) * (p.z - c.z);
  }))) << "a gap";
  EXPECT_FALSE(search_in(
      nearest_by<Corner>([](auto p, auto c) { return (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + 1; })));
  EXPECT_FALSE(search_in(nearest_by<Corner>([](auto p, auto c) {
    return (p.x - c.y) * (p.x - c.y) + (p.y - c.x) * (p.y - c.x);
  }))) << "crossed";
  EXPECT_FALSE(search_in(
      nearest_by<Corner>([](auto p, auto c) { return (p.x - p.y) * (p.x - p.y) + (c.x - c.y) * (c.x - c.y); })));
  EXPECT_FALSE(search_in(nearest_by<Corner>([](auto p, auto c) {
    return (p.weight - c.weight) * (p.weight - c.weight);
  }))) << "doubles";
  EXPECT_FALSE(search_in(nearest_by<Spot130>([](auto p, auto c) { return query::squared_distance(p.x, c.x); })))
      << "too long for registers";
}

template <class T> void compiles() {
  static const std::vector<T> rows(100), middles(30);
  const auto c = query::broadcast(middles);
  const auto near = query::from(rows).as_accelerated().where([](auto p) { return p.id >= 0; }).select([c](auto p) {
    return std::pair(c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); }), p.x);
  });
  each_group_by(
      near.group_by([](auto a) { return a.first; }).select([](auto g) {
        return query::make<T>(g.key(), g.mean([](auto a) { return a.second; }));
      }),
      [](const query::planner::vertex& v) {
        input_layout in = planned_layout(v.inputs.front(), group_fields(v));
        const auto search = generate_search(v.inputs.front(), v.node, in, false),
                   wide = generate_search(v.inputs.front(), v.node, in, true);
        ASSERT_TRUE(search && wide);
        for (const int capability : {80, 90})
          EXPECT_NO_THROW((void)compiler::find()->compile(search->source.text(), embedded_sources(), capability, {}));
        EXPECT_NO_THROW((void)compiler::find()->compile(wide->source.text(), embedded_sources(), 90, {}));
        in.nearest = std::make_shared<const nearest_search>(search->search);
        in.nearest_column = static_cast<std::uint32_t>(in.columns.size());
        in.columns.push_back({~std::size_t{0}, query::ir::describe<std::uint64_t>()});
        kernel_source k;
        EXPECT_TRUE(keyed_by_nearest(k, v.inputs.front(), in, *v.node));
        const group_kernels g = generate_group_kernels(v, in, group_program::labelled);
        if constexpr (std::is_same_v<T, Spot3>) {
          EXPECT_FALSE(g.aggregates.spread);
        } else {
          EXPECT_TRUE(g.aggregates.spread);
          EXPECT_EQ(g.source.text().find("written_distance"), std::string::npos);
        }
        EXPECT_NO_THROW((void)compiler::find()->compile(g.source.text(), embedded_sources(), 90, {}));
      });
}

TEST(nearest_search, kernels_compile) {
  if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
  compiles<Spot3>();
  compiles<Spot40>();
  compiles<Spot128>();
}

}  // namespace
