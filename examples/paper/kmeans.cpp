// k-means: groups points by their nearest center, and moves each center to the mean of its points; five rounds.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "program.hpp"

template <std::size_t N> struct Point { std::array<float, N> x; };
template <std::size_t N> struct Center {
  std::int32_t id;
  std::array<float, N> x;
};
using Point20 = Point<20>;
using Point40 = Point<40>;
using Center20 = Center<20>;
using Center40 = Center<40>;
QUERY_RECORD(Point20, x);
QUERY_RECORD(Point40, x);
QUERY_RECORD(Center20, id, x);
QUERY_RECORD(Center40, id, x);

// query:begin
template <std::size_t N>
query::Query<Center<N>> k_means(const query::Query<Point<N>>& points, const query::Query<Center<N>>& first, int rounds) {
  return first.do_while([points](query::Query<Center<N>> now) {
    const auto centers = query::broadcast(now);
    const auto distance = [](auto p, auto c) { return query::squared_distance(p.x, c.x); };
    return points.group_by([centers, distance](auto p) { return centers.arg_min(p, distance); })
        .select([](auto g) { return query::make<Center<N>>(g.key(), g.mean([](auto p) { return p.x; })); })
        .order_by([](auto c) { return c.id; });
  }, query::times(rounds));
}
// query:end

// loop:begin
template <std::size_t N> std::size_t nearest(const Point<N>& p, const std::vector<Center<N>>& centers) {
  std::size_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t j = 0; j < centers.size(); ++j) {
    float distance = 0;
    for (std::size_t i = 0; i < N; ++i) {
      const float d = p.x[i] - centers[j].x[i];
      distance += d * d;
    }
    if (distance < least) {
      least = distance;
      best = j;
    }
  }
  return best;
}

template <std::size_t N>
std::vector<Center<N>> k_means_by_hand(const std::vector<Point<N>>& points, std::vector<Center<N>> centers,
                                       int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::array<double, N>> sums(centers.size());
    std::vector<std::int64_t> counts(centers.size());
    for (const Point<N>& p : points) {
      const std::size_t j = nearest(p, centers);
      for (std::size_t i = 0; i < N; ++i) sums[j][i] += static_cast<double>(p.x[i]);
      ++counts[j];
    }
    std::vector<Center<N>> next;
    for (std::size_t j = 0; j < centers.size(); ++j) {
      if (counts[j] == 0) continue;
      next.push_back({static_cast<std::int32_t>(j), {}});
      for (std::size_t i = 0; i < N; ++i)
        next.back().x[i] = static_cast<float>(sums[j][i] / static_cast<double>(counts[j]));
    }
    centers = std::move(next);
  }
  return centers;
}
// loop:end

// Centers agree but for rounding, and so does the center of each point, unless two are equally near. Of many points,
// every so many are looked at.
template <std::size_t N>
bool same(const std::vector<Point<N>>& points, const std::vector<Center<N>>& a, const std::vector<Center<N>>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (a[j].id != b[j].id) return false;
    for (std::size_t i = 0; i < N; ++i)
      if (!paper::near(a[j].x[i], b[j].x[i], 1e-3)) return false;
  }
  for (std::size_t at = 0, step = points.size() / 100'000 + 1; at < points.size(); at += step) {
    const Point<N>& p = points[at];
    const std::size_t one = nearest(p, a), other = nearest(p, b);
    const auto distance = [&](std::size_t j) { return static_cast<double>(query::squared_distance(p.x, a[j].x)); };
    if (one != other && !paper::near(distance(one), distance(other), 1e-3)) return false;
  }
  return true;
}

// Points around `most` corners, or as many as there are points.
template <std::size_t N> int main_for(const paper::options& o, std::int64_t most) {
  const std::int64_t k = std::min(most, o.rows);
  paper::random random(1);
  std::vector<Point<N>> points(static_cast<std::size_t>(o.rows));
  std::vector<Center<N>> corners(static_cast<std::size_t>(k)), first;
  for (Center<N>& c : corners)
    for (float& x : c.x) x = static_cast<float>(4 * random.uniform());
  for (Point<N>& p : points) {
    p = {corners[static_cast<std::size_t>(random.below(k))].x};
    for (float& x : p.x) x += static_cast<float>(2 * random.uniform());
  }
  for (std::size_t j = 0; j < corners.size(); ++j) first.push_back({static_cast<std::int32_t>(j), points[j].x});
  const int rounds = 5;
  o.write("points", points);
  return paper::run(
      o, [&] { return k_means_by_hand(points, first, rounds); },
      [&](const paper::way& on) { return k_means(on.rows(points), on.rows(first), rounds); },
      [&](const auto& a, const auto& b) { return same(points, a, b); });
}

int main(int argc, char** argv) {
  const paper::options o = paper::read("kmeans", std::span(argv, static_cast<std::size_t>(argc)),
                                       {{"test", 3000},
                                        {"small", 1'000'000},
                                        {"middle", 5'000'000},
                                        {"large", 1'000'000}});
  return o.size == "large" ? main_for<40>(o, 80) : main_for<20>(o, 10);
}
