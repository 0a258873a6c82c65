// Which centre each point is nearest to, as a query says and as plain fp32 says (nearest_two.hpp). Where the two differ, exact distances
// tell near ties, which fp32's rounding may take either way, from wrong answers.
//
//   const auto there = bench::nearest_two_there<16>(points, centres);                     // all rows, on the device
//   const bench::label_check seen = bench::compare_labels<16>(points, centres, labels, there);
//   seen.differ == seen.differ_near && seen.unlike_host == 0
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "gpu_loops/nearest_two.hpp"

namespace bench {

struct label_check {
  std::size_t compared = 0;
  std::size_t near = 0;         // of those: a second centre is as near, within fp32's rounding
  std::size_t differ = 0;       // of those: the labels are not the same
  std::size_t differ_near = 0;  // of those: both centres are as near, within fp32's rounding
  std::size_t on_host = 0;      // of those: the host computed the nearest
  std::size_t unlike_host = 0;  // of those: the device had others, or other distances
};

// The sum of D squared differences has at most this relative error in fp32: a difference, its square, and the additions in a row that the
// lanes of query::squared_distance make.
template <std::size_t D> constexpr double rounding_of_distance() {
  constexpr std::size_t lanes = D % 8 == 0 ? 8 : D % 4 == 0 ? 4 : 1;
  return static_cast<double>(D / lanes + lanes + 3) * 0x1p-24;
}

template <std::size_t D, class Point, class Centre> double exact_distance(const Point& p, const Centre& c) {
  double sum = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const double x = static_cast<double>(p.x[d]) - static_cast<double>(c.x[d]);
    sum += x * x;
  }
  return sum;
}

// `there`: of every row, or empty. The host computes every n-th row, as many as make `most` pairs of coordinates.
template <std::size_t D, class Point, class Centre, class Label>
label_check compare_labels(const std::vector<Point>& points, const std::vector<Centre>& centres, const std::vector<Label>& labels,
                           const std::vector<nearest_two>& there, double most = 4e10) {
  const double all = static_cast<double>(points.size()) * static_cast<double>(centres.size()) * D;
  const std::size_t step = all > most ? static_cast<std::size_t>(all / most) + 1 : 1;
  constexpr double within = rounding_of_distance<D>();
  const auto as_near = [](double a, double b) { return std::abs(a - b) <= within * (a + b); };
  constexpr std::size_t block = 1024;
  std::atomic<std::size_t> next{0}, compared{0}, near{0}, differ{0}, differ_near{0}, on_host{0}, unlike_host{0};
  const auto work = [&] {
    for (std::size_t from; (from = next.fetch_add(block)) < points.size();)
      for (std::size_t r = from; r < std::min(from + block, points.size()); ++r) {
        const bool here = r % step == 0;
        if (there.empty() && !here) continue;
        const Point& p = points[r];
        nearest_two nearest = there.empty() ? nearest_two{} : there[r];
        if (here) {
          const nearest_two wanted = nearest_two_of<D>(p, centres);
          ++on_host;
          unlike_host += !there.empty() && nearest != wanted;
          nearest = wanted;
        }
        ++compared;
        near += as_near(static_cast<double>(nearest.best), static_cast<double>(nearest.second));
        const auto label = static_cast<std::int64_t>(labels[r]);
        if (label == static_cast<std::int64_t>(nearest.which)) continue;
        ++differ;
        if (label < 0 || static_cast<std::size_t>(label) >= centres.size()) continue;
        const auto exact = [&](std::size_t centre) { return exact_distance<D>(p, centres[centre]); };
        differ_near += as_near(exact(static_cast<std::size_t>(label)), exact(nearest.which));
      }
  };
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& t : threads) t = std::thread(work);
  for (std::thread& t : threads) t.join();
  return {compared, near, differ, differ_near, on_host, unlike_host};
}

// How far the centres that a round gave, each under its label's number, are from the means of the points of that label, in doubles;
// infinite if other centres have points.
template <std::size_t D, class Point, class Centre, class Label>
double distance_from_means(const std::vector<Point>& points, const std::vector<Label>& labels, std::size_t k,
                           const std::vector<Centre>& round) {
  struct sums {
    std::vector<double> x;
    std::vector<std::size_t> n;
  };
  const std::size_t many = std::max(1u, std::thread::hardware_concurrency());
  std::vector<sums> parts(many);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < many; ++t)
    threads.emplace_back([&, t] {
      sums& s = parts[t];
      s.x.resize(k * D), s.n.resize(k);
      for (std::size_t i = points.size() / many * t, end = t + 1 == many ? points.size() : points.size() / many * (t + 1); i < end; ++i) {
        const auto label = static_cast<std::size_t>(labels[i]);
        if (label >= k) continue;
        ++s.n[label];
        for (std::size_t d = 0; d < D; ++d) s.x[label * D + d] += static_cast<double>(points[i].x[d]);
      }
    });
  for (std::thread& t : threads) t.join();
  sums& all = parts.front();
  for (std::size_t t = 1; t < many; ++t) {
    for (std::size_t i = 0; i < k * D; ++i) all.x[i] += parts[t].x[i];
    for (std::size_t i = 0; i < k; ++i) all.n[i] += parts[t].n[i];
  }
  double worst = 0;
  std::size_t with_points = 0;
  for (const std::size_t n : all.n) with_points += n != 0;
  if (with_points != round.size()) return std::numeric_limits<double>::infinity();
  for (const Centre& c : round) {
    const auto label = static_cast<std::size_t>(c.id);
    if (label >= k || all.n[label] == 0) return std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < D; ++d)
      worst = std::max(worst, std::abs(static_cast<double>(c.x[d]) - all.x[label * D + d] / static_cast<double>(all.n[label])));
  }
  return worst;
}

}  // namespace bench
