// The two centres that each point is nearest to, by plain fp32: the expression of k-means' query itself, computed pair by pair, the first
// of equals. On the host for a row, on the device for all of them; both give the same bits.
//
//   bench::nearest_two_of<16>(point, centres).which
//   bench::nearest_two_there<16>(points, centres)[i].which   // empty without a GPU
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <query/query.hpp>

namespace bench {

struct nearest_two {
  std::uint32_t which = 0;
  float best = std::numeric_limits<float>::infinity(), second = best;  // squared distances, of the nearest and the next
  bool operator==(const nearest_two&) const = default;
};

template <std::size_t D, class Point, class Centre> nearest_two nearest_two_of(const Point& p, const std::vector<Centre>& centres) {
  nearest_two n;
  for (std::size_t c = 0; c < centres.size(); ++c) {
    const float distance = query::squared_distance(p.x, centres[c].x);
    if (distance < n.best) n.second = n.best, n.best = distance, n.which = static_cast<std::uint32_t>(c);
    else if (distance < n.second) n.second = distance;
  }
  return n;
}

// `points`, `centres`: n and k times `dimensions` numbers, side by side.
std::vector<nearest_two> nearest_two_there(const float* points, std::size_t n, const float* centres, std::size_t k, std::size_t dimensions);

template <std::size_t D, class Point, class Centre>
std::vector<nearest_two> nearest_two_there(const std::vector<Point>& points, const std::vector<Centre>& centres) {
  static_assert(sizeof(Point) == D * sizeof(float));
  std::vector<float> flat;
  for (const Centre& c : centres) flat.insert(flat.end(), c.x.begin(), c.x.end());
  return nearest_two_there(points.empty() ? nullptr : points.front().x.data(), points.size(), flat.data(), centres.size(), D);
}

}  // namespace bench
