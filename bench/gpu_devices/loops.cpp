// k-means and PageRank: a loop's rounds.
#include <cmath>

#include "gpu_devices/devices.hpp"

namespace bench::devices {

namespace {

constexpr std::size_t dims = 128;
struct Point {
  std::array<float, dims> x;
};
QUERY_RECORD(Point, x);
struct Centre {
  std::int64_t id;
  std::array<float, dims> x;
};
QUERY_RECORD(Centre, id, x);
struct Edge {
  std::uint32_t from, to;
  double share;  // one over the edges that leave `from`
};
QUERY_RECORD(Edge, from, to, share);
struct Rank {
  std::uint32_t id;
  double value;
};
QUERY_RECORD(Rank, id, value);

template <class Start, class Q> auto kmeans(const Start& start, const Q& points, int rounds) {
  return start.do_while(
      [points](query::Query<Centre> now) {
        const auto c = query::broadcast(now);
        return points.group_by([c](auto p) { return c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); })
            .select([](auto g) { return query::make<Centre>(g.key(), g.mean([](auto p) { return p.x; })); });
      },
      query::times(rounds));
}

template <class Start, class Q> auto pagerank(const Start& start, const Q& edges, double pages, int rounds) {
  return start.do_while(
      [edges, pages](query::Query<Rank> ranks) {
        return edges
            .join(
                ranks, [](auto e) { return e.from; }, [](auto r) { return r.id; },
                [](auto e, auto r) { return query::make<Rank>(e.to, r.value * e.share); })
            .group_by([](auto r) { return r.id; })
            .select([pages](auto g) { return query::make<Rank>(g.key(), 0.15 / pages + 0.85 * g.sum([](auto r) { return r.value; })); });
      },
      query::times(rounds));
}

// Bells of width 1 around k centres that are 3 wide; a bell is a sum of four bytes.
auto points_around(std::size_t n, std::size_t k) {
  const auto bell = [](std::uint64_t bits) {
    const std::uint64_t sum = (bits & 0xff) + (bits >> 8 & 0xff) + (bits >> 16 & 0xff) + (bits >> 24 & 0xff);
    return (static_cast<float>(sum) - 510.0f) * (1.0f / 147.8f);
  };
  return filled<Point>(n, [&](std::size_t i) {
    const std::uint64_t middle = random_of(i) % k;
    Point p;
    for (std::size_t d = 0; d < dims; ++d) p.x[d] = 3 * bell(random_of((middle << 8) + d + (1ull << 60))) + bell(random_of((i << 8) + d));
    return p;
  });
}
template <class Points> std::vector<Centre> first_centres(const Points& points, std::size_t k) {
  std::vector<Centre> start;
  for (std::size_t i = 0; i < k; ++i) start.push_back({static_cast<std::int64_t>(i), points[i * 17 % points.size()].x});
  return start;
}

void kmeans_of(machine& m) {
  if (!m.wants("k-means, 8e6 x 128, 1,024 centres, 5 rounds, resident") &&
      !m.wants("k-means, 8e6 x 128, 1,024 centres, 5 rounds, from the host"))
    return;
  const std::size_t n = m.fewer(8'000'000), k = m.fewer(1 << 14) / 16;
  const auto points = points_around(n, k);
  const std::vector<Centre> start = first_centres(points, k);
  constexpr int rounds = 5;
  const double bytes = 512.0 * static_cast<double>(n);
  const auto contest = [&](const side& s, const auto& rows) {
    const auto loop = kmeans(s.on(query::from(start).as_query()), rows, rounds);
    return contestant{[loop] {
                        // In any order of the centres.
                        double sum = 0;
                        for (const Centre& c : loop.to_vector())
                          for (const float x : c.x) sum += std::abs(static_cast<double>(x));
                        return sum;
                      },
                      {},
                      [loop] { return loop.explain(); }};
  };
  const std::string name = "k-means, 8e6 x 128, 1,024 centres, 5 rounds";
  m.race({name + ", resident", 3.4, {.device = rounds * bytes}, 1e-4},
         [&](const side& s) { return contest(s, s.kept(query::from(points).as_query())); });
  m.race({name + ", from the host", 0, {.device = rounds * bytes, .sent = bytes, .host = bytes}, 1e-4},
         [&](const side& s) { return contest(s, s.on(query::from(points).as_query())); });
}

void pagerank_of(machine& m) {
  if (!m.wants("PageRank, 1M pages x 20 edges, 20 rounds, resident") && !m.wants("PageRank, 1M pages x 20 edges, 20 rounds, from the host"))
    return;
  const std::size_t pages = m.fewer(1'000'000), each = 20;
  const auto edges = filled<Edge>(pages * each, [&](std::size_t i) {
    const std::size_t from = i / each;
    const std::size_t to = i % each == 0 ? (from + 1) % pages : random_of(i) % pages;
    return Edge{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), 1.0 / each};
  });
  std::vector<Rank> start(pages);
  for (std::size_t i = 0; i < pages; ++i) start[i] = {static_cast<std::uint32_t>(i), 1.0 / static_cast<double>(pages)};
  constexpr int rounds = 20;
  const double bytes = 16.0 * static_cast<double>(edges.size()), of_round = bytes + 3 * 16.0 * static_cast<double>(pages);
  const auto contest = [&](const side& s, const auto& rows) {
    const auto loop = pagerank(s.on(query::from(start).as_query()), rows, static_cast<double>(pages), rounds);
    return contestant{[loop] {
                        double sum = 0;
                        for (const Rank& r : loop.to_vector()) sum += r.value * (r.id % 1000);
                        return sum;
                      },
                      {},
                      [loop] { return loop.explain(); }};
  };
  const std::string name = "PageRank, 1M pages x 20 edges, 20 rounds";
  m.race({name + ", resident", 0, {.device = rounds * of_round, .exchanged = rounds * 16.0 * static_cast<double>(pages)}},
         [&](const side& s) { return contest(s, s.kept(query::from(edges).as_query())); });
  m.race({name + ", from the host", 0, {.device = rounds * of_round, .sent = bytes, .host = bytes}},
         [&](const side& s) { return contest(s, s.on(query::from(edges).as_query())); });
}

}  // namespace

std::function<void()> kmeans_rounds(const side& s, std::size_t n, int rounds) {
  const auto points = points_around(n, 1024);
  const auto loop = kmeans(s.on(query::from(first_centres(points, 1024)).as_query()), s.kept(query::from(points).as_query()), rounds);
  return [loop] { (void)loop.to_vector(); };
}

void loops(machine& m) {
  kmeans_of(m);
  pagerank_of(m);
}

}  // namespace bench::devices
