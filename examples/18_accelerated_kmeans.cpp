// k-means entirely on a GPU: the loop's variable stays there, the points are brought over once, and from the third round on a round is one
// graph of kernels. Until no center moves; the condition is computed there too. Without a GPU it runs on the CPU.
//
//   ./run accelerated_kmeans [points, 100,000 by default]
#include <array>
#include <chrono>
#include <iostream>
#include <vector>

#include <query/query.hpp>

struct Point {
  std::array<float, 16> x;
};
struct Center {
  std::int32_t id, round;
  std::array<float, 16> x;
};
QUERY_RECORD(Point, x);
QUERY_RECORD(Center, id, round, x);

query::Query<Center> clusters(const query::Query<Point>& points, const std::vector<Center>& first) {
  const auto distance = [](auto p, auto c) { return query::squared_distance(p.x, c.x); };
  return query::from(first).as_accelerated().do_while(
      [points, distance](query::Query<Center> current) {
        const auto centers = query::broadcast(current);
        return points.group_by([centers, distance](auto p) { return centers.arg_min(p, distance); })
            .select([](auto g) { return query::make<Center>(g.key(), 0, g.mean([](auto p) { return p.x; })); })
            .select([centers](auto c) { return query::make<Center>(c.id, centers[c.id].round + 1, c.x); })
            .order_by([](auto c) { return c.id; });
      },
      [distance](query::Query<Center> before, query::Query<Center> after) {
        return query::value_of(before.zip(after, distance)).max() > 1e-6f;
      },
      200);
}

int main(int argc, char** argv) {
  // Points around 64 corners.
  std::vector<Point> points(argc > 1 ? std::stoul(argv[1]) : 100'000);
  std::uint64_t state = 88172645463325252ull;
  const auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
  };
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t d = 0; d < 16; ++d) points[i].x[d] = static_cast<float>((i % 64) >> d % 6 & 1) + random();
  std::vector<Center> first;
  for (std::int32_t id = 0; id < 64; ++id) first.push_back({id, 0, points[static_cast<std::size_t>(id)].x});

  const auto there = query::from(points).as_accelerated().cached();
  const auto loop = clusters(there, first);
  int unfinished = 0;
  for (const char* run : {"first, kernels compiled if they are new", "again"}) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Center> centers = loop.to_vector();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::cout << run << ": " << centers.size() << " centers of " << points.size() << " points, " << centers.front().round
              << " rounds in " << ms << " ms, " << ms / centers.front().round << " ms each\n";
    if (centers.size() != first.size() || centers.front().round == 200) unfinished = 1;  // 200: some still moved
  }
  std::cout << loop.explain();
  return unfinished;
}
