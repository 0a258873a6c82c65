// k-means entirely on a GPU: the loop's variable stays there, the points are brought over once, and from the third round on a round is one
// graph of kernels. Until no center moves; the condition is computed there too. Without a GPU it runs on the CPU. In the end the CPU computes
// one round more from what came out: no center may move by that.
//
//   ./run accelerated_kmeans [points, 50,000 by default]
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <vector>

#include <query/query.hpp>

#include "same_rows.hpp"

struct Point {
  std::array<float, 16> x;
};
struct Center {
  std::int32_t id, round;
  std::array<float, 16> x;
};
QUERY_RECORD(Point, x);
QUERY_RECORD(Center, id, round, x);

constexpr auto distance = [](auto p, auto c) { return query::squared_distance(p.x, c.x); };

// Each point goes to the nearest center; the new centers are the means of their points.
query::Query<Center> next_round(const query::Query<Point>& points, const query::Query<Center>& current) {
  const auto centers = query::broadcast(current);
  return points.group_by([centers](auto p) { return centers.arg_min(p, distance); })
      .select([](auto g) { return query::make<Center>(g.key(), 0, g.mean([](auto p) { return p.x; })); })
      .select([centers](auto c) { return query::make<Center>(c.id, centers[c.id].round + 1, c.x); })
      .order_by([](auto c) { return c.id; });
}

query::Query<Center> clusters(const query::Query<Point>& points, const std::vector<Center>& first) {
  return query::from(first).as_accelerated().do_while(
      [points](query::Query<Center> current) { return next_round(points, current); },
      [](query::Query<Center> before, query::Query<Center> after) { return query::value_of(before.zip(after, distance)).max() > 1e-6f; },
      200);
}

// How far the CPU would move the center that it moves farthest, squared.
float moved_by_cpu(const std::vector<Point>& points, const std::vector<Center>& centers) {
  const std::vector<Center> next = next_round(query::from(points), query::from(centers)).to_vector();
  if (next.size() != centers.size()) return std::numeric_limits<float>::infinity();
  return query::from(centers).zip(query::from(next), distance).max().value();
}

int main(int argc, char** argv) {
  // Points around 64 corners.
  std::vector<Point> points(argc > 1 ? std::stoul(argv[1]) : 50'000);
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
  bool good = true;
  for (const char* run : {"first, kernels compiled if they are new", "again"}) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Center> centers = loop.to_vector();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::cout << run << ": " << centers.size() << " centers of " << points.size() << " points, " << centers.front().round
              << " rounds in " << ms << " ms, " << ms / centers.front().round << " ms each\n";
    const float moved = moved_by_cpu(points, centers);
    std::cout << "    a round more on the CPU moves none by more than " << std::sqrt(moved) << "\n";
    good = good && centers.size() == first.size() && centers.front().round < 200 && moved < 1e-5f;  // 200: some still moved
  }
  std::cout << loop.explain();
  if (query::Session::standard().gpu_status().empty() && steps_on_gpu(loop.explain()) == 0) {
    std::cout << "There is a GPU, and nothing ran on it.\n";
    good = false;
  }
  return good ? 0 : 1;
}
