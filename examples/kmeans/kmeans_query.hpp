// k-means as a query: the body of a do_while groups the points by their nearest center, a broadcast of the loop's variable.
// tests/examples/kmeans_test.cpp compares the clusters with those that numpy and DuckDB found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <query/query.hpp>

namespace kmeans {

inline constexpr std::size_t features = 6;
using Vector = std::array<double, features>;

struct Point {
  std::array<float, features> x;
};
QUERY_RECORD(Point, x);

struct Center {
  std::int32_t id, round;
  std::array<float, features> x;
};
QUERY_RECORD(Center, id, round, x);

// ---------------------------------------------------------------- k-means itself
// Moves the centers to the means of their points until none moves by `epsilon`; at most 100 rounds.
inline query::Query<Center> clusters(const query::Query<Point>& points, std::vector<Center> first, double epsilon = 1e-4) {
  return query::from(std::move(first)).do_while(
      [points](query::Query<Center> current) {
        const auto centers = query::broadcast(current);
        const auto distance = [](auto p, auto c) { return query::squared_distance(p.x, c.x); };
        return points.group_by([centers, distance](auto p) { return centers.arg_min(p, distance); })
            .select([](auto g) { return query::make<Center>(g.key(), 0, g.mean([](auto p) { return p.x; })); })
            .select([centers](auto c) { return query::make<Center>(c.id, centers[c.id].round + 1, c.x); })
            .order_by([](auto c) { return c.id; });
      },
      [epsilon](query::Query<Center> before, query::Query<Center> after) {
        const auto moves = before.zip(after, [](auto a, auto b) { return query::sqrt(query::squared_distance(a.x, b.x)); });
        return query::value_of(moves).max() >= epsilon;
      },
      100);
}

// ---------------------------------------------------------------- the size of each cluster, and how far its points lie
struct Assigned {
  std::int32_t cluster;
  float squared_distance;
};
QUERY_RECORD(Assigned, cluster, squared_distance);

struct Cluster {
  std::int32_t cluster;
  std::int64_t size;
  double inertia;
};
QUERY_RECORD(Cluster, cluster, size, inertia);

inline query::Query<Cluster> sizes(const query::Query<Point>& points, const std::vector<Center>& centers) {
  const auto all = query::broadcast(centers);
  const auto distance = [](auto p, auto c) { return query::squared_distance(p.x, c.x); };
  return points
      .select([all, distance](auto p) { return query::make<Assigned>(all.arg_min(p, distance), all.min(p, distance)); })
      .group_by([](auto a) { return a.cluster; })
      .select([](auto g) { return query::make<Cluster>(g.key(), g.count(), g.sum([](auto a) { return a.squared_distance; })); })
      .order_by_descending([](auto c) { return c.size; });
}

// ---------------------------------------------------------------- the points: flights, six features each, standardised
struct Flight {
  std::optional<std::int32_t> dep_delay, arr_delay, air_time;
  std::int32_t distance, hour, minute, month;
};
QUERY_RECORD(Flight, dep_delay, arr_delay, air_time, distance, hour, minute, month);

struct Raw {
  Vector x;
};
QUERY_RECORD(Raw, x);

struct Scale {
  Vector mean, stddev;
};
QUERY_RECORD(Scale, mean, stddev);

inline query::Query<Raw> raw_points(const query::Query<Flight>& flights) {
  return flights.where([](auto f) { return f.dep_delay.has_value() && f.arr_delay.has_value() && f.air_time.has_value(); })
      .select([](auto f) {
        const auto number = [](const auto& x) { return query::cast<double>(x); };
        return query::make<Raw>(std::array{number(*f.dep_delay), number(*f.arr_delay), number(*f.air_time), number(f.distance),
                                           number(60 * f.hour + f.minute), number(f.month)});
      });
}

// The mean and the population's standard deviation of each feature. There are rows.
inline Scale scale_of(const query::Query<Raw>& raw) {
  using namespace query::operators;
  const Vector mean = raw.mean([](auto r) { return r.x; }).value();
  Vector stddev = raw.mean([mean](auto r) { return (r.x - mean) * (r.x - mean); }).value();
  for (double& s : stddev) s = std::sqrt(s);
  return {mean, stddev};
}

inline query::Query<Point> standardised(const query::Query<Raw>& raw, const Scale& scale) {
  using namespace query::operators;
  return raw.select([scale](auto r) { return query::make<Point>((r.x - scale.mean) / scale.stddev); });
}

// Points 0, n / k, 2 (n / k)...
inline std::vector<Center> first_centers(const std::vector<Point>& points, std::size_t k) {
  std::vector<Center> centers;
  for (std::size_t i = 0; i < k; ++i) centers.push_back({static_cast<std::int32_t>(i), 0, points[i * (points.size() / k)].x});
  return centers;
}

}  // namespace kmeans
