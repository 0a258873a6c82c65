// k-means, 1M points of 16 floats, 16 centres, 10 rounds: the query against a hand-written oneTBB loop on the same data.
#include <tbb/parallel_for.h>

#include <query/query.hpp>
#include <random>

#include "timing.hpp"

struct Point {
  std::array<float, 16> x;
};
QUERY_RECORD(Point, x);

namespace {

constexpr int k = 16, rounds = 10;

std::vector<Point> by_hand(const std::vector<Point>& points, std::vector<Point> centres) {
  for (int round = 0; round < rounds; ++round) {
    constexpr std::size_t chunks = 64;
    struct sums {
      double x[k][16] = {};
      std::int64_t n[k] = {};
    };
    std::vector<sums> all(chunks);
    tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
      sums& s = all[c];
      for (std::size_t i = points.size() * c / chunks; i < points.size() * (c + 1) / chunks; ++i) {
        const float* p = points[i].x.data();
        int best = 0;
        float least = 0;
        for (int j = 0; j < k; ++j) {
          const float* q = centres[static_cast<std::size_t>(j)].x.data();
          float lane[8] = {}, d = 0;
          for (int a = 0; a < 16; a += 8)
            for (int b = 0; b < 8; ++b) {
              const float e = p[a + b] - q[a + b];
              lane[b] += e * e;
            }
          for (float v : lane) d += v;
          if (j == 0 || d < least) least = d, best = j;
        }
        for (int a = 0; a < 16; ++a) s.x[best][a] += static_cast<double>(p[a]);
        ++s.n[best];
      }
    });
    for (int j = 0; j < k; ++j) {
      double x[16] = {};
      std::int64_t n = 0;
      for (const sums& s : all) {
        n += s.n[j];
        for (int a = 0; a < 16; ++a) x[a] += s.x[j][a];
      }
      if (n)
        for (std::size_t a = 0; a < 16; ++a) centres[static_cast<std::size_t>(j)].x[a] = static_cast<float>(x[a] / static_cast<double>(n));
    }
  }
  return centres;
}

std::vector<Point> by_query(const std::vector<Point>& points, const std::vector<Point>& first) {
  const auto distance = [](auto p, auto c) { return query::squared_distance(p.x, c.x); };
  return query::from(first)
      .do_while(
          [&](query::Query<Point> centres) {
            return query::from(points)
                .group_by([c = query::broadcast(centres), distance](auto p) { return c.arg_min(p, distance); })
                .select([](auto g) { return query::make<Point>(g.mean([](auto p) { return p.x; })); });
          },
          query::times(rounds))
      .to_vector();
}

double fingerprint(const std::vector<Point>& centres) {
  double s = 0;
  for (const Point& p : centres)
    for (float v : p.x) s += static_cast<double>(v) * static_cast<double>(v);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::stoull(argv[1]) : 1'000'000;
  std::mt19937 g(1);
  std::normal_distribution<float> d;
  std::vector<Point> truth(k), points(n), first;
  for (Point& c : truth)
    for (float& v : c.x) v = 4 * d(g);
  for (Point& p : points) {
    const Point& c = truth[g() % k];
    for (std::size_t a = 0; a < 16; ++a) p.x[a] = c.x[a] + d(g);
  }
  for (std::size_t j = 0; j < k; ++j) first.push_back(points[j * (n / k)]);
  bench::race r("k-means, " + std::to_string(n) + " x 16 floats, k 16, 10 rounds");
  r.add("hand-written, 8 lanes, TBB", [&] { return fingerprint(by_hand(points, first)); });
  r.add("query: do_while, broadcast, group_by", [&] { return fingerprint(by_query(points, first)); });
  r.run(7);
}
