// Loops whose rounds group: what a GPU repeats without the host as long as sizes stay, and runs anew where they change; and the
// sums of long arrays that such loops are made of.
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

constexpr std::size_t dimensions = 12;
struct Place {
  std::int32_t tag;
  std::array<float, dimensions> x;
};
QUERY_RECORD(Place, tag, x);
struct Middle {
  std::int64_t id;
  std::array<float, dimensions> x;
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
struct Total {
  std::int32_t tag;
  std::array<double, dimensions> x;
  std::int64_t rows;
};
QUERY_RECORD(Total, tag, x, rows);

// Around `bells` points far from each other.
std::vector<Place> places(std::size_t n, std::size_t bells) {
  std::vector<Place> all(n);
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < n; ++i) {
    all[i].tag = static_cast<std::int32_t>(i % bells);
    for (std::size_t d = 0; d < dimensions; ++d) {
      state = state * 1664525u + 1013904223u;
      all[i].x[d] = static_cast<float>(i % bells) * 10 + static_cast<float>(d) + static_cast<float>(state >> 20) * 0.0005f;
    }
  }
  return all;
}

float distance(const std::array<float, dimensions>& a, const std::array<float, dimensions>& b) {
  float s = 0;
  for (std::size_t d = 0; d < dimensions; ++d) s += (a[d] - b[d]) * (a[d] - b[d]);
  return s;
}

std::vector<Middle> moved(const std::vector<Place>& rows, const std::vector<Middle>& now) {
  std::vector<std::array<double, dimensions>> sums(now.size());
  std::vector<std::int64_t> counts(now.size());
  for (const Place& p : rows) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < now.size(); ++k)
      if (distance(p.x, now[k].x) < distance(p.x, now[best].x)) best = k;
    ++counts[best];
    for (std::size_t d = 0; d < dimensions; ++d) sums[best][d] += static_cast<double>(p.x[d]);
  }
  std::vector<Middle> next;
  for (std::size_t k = 0; k < now.size(); ++k) {
    if (counts[k] == 0) continue;
    Middle m{static_cast<std::int64_t>(k), {}};
    for (std::size_t d = 0; d < dimensions; ++d) m.x[d] = static_cast<float>(sums[k][d] / static_cast<double>(counts[k]));
    next.push_back(m);
  }
  return next;
}

CONFORMS(iterated_groups, means_move_until_the_rounds_are_over, "do_while", "times", "broadcast", "group_by") {
  for (const std::size_t bells : {1u, 7u, 40u}) {
    const std::vector<Place> rows = places(1500, bells);
    // Two starting points in the first bell; one that no row is near to, whose group is empty from the first round on.
    std::vector<Middle> start;
    for (std::size_t k = 0; k < bells; ++k) start.push_back({static_cast<std::int64_t>(k), rows[k].x});
    start.push_back({static_cast<std::int64_t>(bells), rows[bells].x});
    Middle far{static_cast<std::int64_t>(bells + 1), {}};
    far.x.fill(1e6f);
    start.push_back(far);
    for (const std::uint64_t rounds : {1u, 8u}) {
      SCOPED_TRACE(std::to_string(bells) + " bells, " + std::to_string(rounds) + " rounds");
      std::vector<Middle> wanted = start;
      for (std::uint64_t r = 0; r < rounds; ++r) wanted = moved(rows, wanted);
      const auto points = source(e, rows);
      auto found = source(e, start)
                       .do_while(
                           [&](query::Query<Middle> now) {
                             const auto c = query::broadcast(now);
                             return points
                                 .select([c](auto p) {
                                   return std::pair(c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); }), p.x);
                                 })
                                 .group_by([](auto a) { return a.first; })
                                 .select([](auto g) { return query::make<Middle>(g.key(), g.mean([](auto a) { return a.second; })); })
                                 .order_by([](auto m) { return m.id; });
                           },
                           query::times(rounds))
                       .to_vector();
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].id, wanted[i].id);
        for (std::size_t d = 0; d < dimensions; ++d) ASSERT_NEAR(found[i].x[d], wanted[i].x[d], 1e-3) << i << ", " << d;
      }
    }
  }
}

CONFORMS(iterated_groups, weights_flow_along_links, "do_while", "times", "join", "group_by") {
  constexpr std::uint32_t nodes = 500, fan = 5;
  std::vector<Link> links;
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t j = 0; j < fan; ++j) links.push_back({i, j == 0 ? (i + 1) % nodes : (i * 37 + j * 101) % nodes, 1.0 / fan});
  std::vector<Weight> start;
  for (std::uint32_t i = 0; i < nodes; ++i) start.push_back({i, 1.0 / nodes});
  for (const std::uint64_t rounds : {2u, 15u}) {
    std::vector<double> wanted(nodes, 1.0 / nodes);
    for (std::uint64_t r = 0; r < rounds; ++r) {
      std::vector<double> next(nodes, 0.15 / nodes);
      for (const Link& l : links) next[l.to] += 0.85 * wanted[l.from] * l.share;
      wanted = next;
    }
    const auto all = source(e, links);
    auto found = source(e, start)
                     .do_while(
                         [&](query::Query<Weight> now) {
                           return all
                               .join(
                                   now, [](auto l) { return l.from; }, [](auto w) { return w.id; },
                                   [](auto l, auto w) { return query::make<Weight>(l.to, w.value * l.share); })
                               .group_by([](auto w) { return w.id; })
                               .select([](auto g) {
                                 return query::make<Weight>(g.key(), 0.15 / nodes + 0.85 * g.sum([](auto w) { return w.value; }));
                               });
                         },
                         query::times(rounds))
                     .to_vector();
    ASSERT_EQ(found.size(), nodes);
    for (const Weight& w : found) ASSERT_NEAR(w.value, wanted[w.id], 1e-12) << w.id;
  }
}

CONFORMS(iterated_groups, sums_of_long_arrays, "group_by", "sum", "count") {
  for (const std::size_t groups : {1u, 10u, 130u, 1500u, 5000u}) {
    SCOPED_TRACE(std::to_string(groups) + " groups");
    const std::vector<Place> rows = places(10007, groups);
    std::vector<Total> wanted(groups);
    for (const Place& p : rows) {
      Total& t = wanted[static_cast<std::size_t>(p.tag)];
      t.tag = p.tag;
      ++t.rows;
      for (std::size_t d = 0; d < dimensions; ++d) t.x[d] += static_cast<double>(p.x[d]);
    }
    // Behind a filter and a projection, too.
    for (const bool projected : {false, true}) {
      const auto total = [](auto g) { return query::make<Total>(g.key(), g.sum([](auto p) { return p.x; }), g.count()); };
      const auto tag = [](auto p) { return p.tag; };
      auto found = projected ? source(e, rows)
                                   .where([](auto p) { return p.tag >= 0; })
                                   .select([](auto p) { return query::make<Place>(p.tag, p.x); })
                                   .group_by(tag)
                                   .select(total)
                                   .to_vector()
                             : source(e, rows).group_by(tag).select(total).to_vector();
      ASSERT_EQ(found.size(), groups);
      for (const Total& t : found) {
        const Total& w = wanted[static_cast<std::size_t>(t.tag)];
        EXPECT_EQ(t.rows, w.rows);
        for (std::size_t d = 0; d < dimensions; ++d) ASSERT_NEAR(t.x[d], w.x[d], 1e-6 * std::abs(w.x[d]) + 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace conformance
