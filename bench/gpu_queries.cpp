// Queries on the GPU, over rows that lie there (cached()) and over rows of the host, beside the same queries on the CPU
// engine. Each is timed whole, from the terminal verb to its result in the host's memory, compiled kernels at hand.
//
//   gpu_queries [rows]      134,217,728 by default: 1.6 GB of a key and a value
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <query/query.hpp>

#include "gpu_rows.hpp"
#include "timing.hpp"

namespace {

using bench::make_rows;
using bench::Row;
using bench::Side;
struct Point {
  std::array<float, 20> x;
};
QUERY_RECORD(Point, x);
struct Centre {
  std::int64_t id;
  std::array<float, 20> x;
};
QUERY_RECORD(Centre, id, x);

template <class Q> double sum_of_large(const Q& q) {
  return q.where([](auto r) { return r.value > 1e6; }).select([](auto r) { return r.value * 0.5 + 1.0; }).sum();
}
template <class Q> auto sums(const Q& q) {
  return q.group_by([](auto r) { return r.key; }).select([](auto g) { return std::pair(g.key(), g.sum([](auto r) { return r.value; })); });
}

template <class Q> double kmeans(const Q& points, const std::vector<Centre>& start, int rounds) {
  const auto centres = query::from(start).as_accelerated().do_while(
      [&](query::Query<Centre> now) {
        const auto c = query::broadcast(now);
        return points
            .select([c](auto p) { return std::pair(c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }), p.x); })
            .group_by([](auto a) { return a.first; })
            .select([](auto g) { return query::make<Centre>(g.key(), g.mean([](auto a) { return a.second; })); });
      },
      query::times(rounds));
  double total = 0;
  for (const Centre& c : centres.to_vector()) total += c.x[0];
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 27;
  const std::string missing = query::Session::standard().gpu_status();
  if (!missing.empty()) {
    std::printf("left out: no GPU: %s\n", missing.c_str());
    return 0;
  }
  const int rounds = 7;
  std::printf("%zu rows of 16 bytes\n", n);
  const auto report = [&](const char* what, double ms, double bytes) {
    std::printf("  %-52s %9.3f ms %8.2f Grow/s %8.1f GB/s\n", what, ms, static_cast<double>(n) / ms * 1e-6, bytes / ms * 1e-6);
  };
  for (const std::uint32_t groups : {16u, 1000u, 1000000u, 16000000u}) {
    const std::vector<Row> rows = make_rows(n, groups);
    const auto host = query::from(rows), accelerated = host.require_gpu();  // not weighed
    const auto there = accelerated.cached();
    (void)there.count();
    if (groups == 16) {
      bench::race r("where + select + sum");
      r.add("GPU, rows there", [&] { return sum_of_large(there); });
      r.add("GPU, rows of the host", [&] { return sum_of_large(accelerated); });
      r.add("CPU", [&] { return sum_of_large(host); });
      r.run(rounds);
      report("GPU, rows there: bytes of the value read once", r.median_of(0), 8.0 * static_cast<double>(n));
    }
    bench::race r("group_by with a sum, " + std::to_string(groups) + " groups");
    r.add("GPU, rows there", [&] { return static_cast<double>(sums(there).count()); });
    r.add("CPU", [&] { return static_cast<double>(sums(host).count()); });
    r.run(groups > 1000 ? 3 : rounds);
    report("GPU, rows there: key and value read once", r.median_of(0), 12.0 * static_cast<double>(n));
    if (groups == 1000000) {
      std::vector<Side> sides(1 << 20);
      for (std::uint32_t i = 0; i < sides.size(); ++i) sides[i] = {i, static_cast<float>(i)};
      const auto joined = [&](const auto& q) {
        return q
            .join(
                query::from(sides), [](auto x) { return x.key; }, [](auto s) { return s.id; },
                [](auto x, auto s) { return x.weight * s.rate; })
            .sum();
      };
      bench::race j("join with a million keys, summed");
      j.add("GPU, rows there", [&] { return joined(there); });
      j.add("CPU", [&] { return joined(host); });
      j.run(3);
      report("GPU, rows there", j.median_of(0), 8.0 * static_cast<double>(n));
      bench::race o("order_by a double, the first ten");
      o.add("GPU, rows there", [&] { return there.order_by([](auto x) { return x.value; }).take(10).to_vector().back().value; });
      o.add("CPU", [&] { return host.order_by([](auto x) { return x.value; }).take(10).to_vector().back().value; });
      o.run(3);
    }
  }
  std::mt19937 random(7);
  std::normal_distribution<float> noise;
  std::vector<Point> points(1000000);
  for (Point& p : points) {
    const auto middle = static_cast<float>(random() % 10);
    for (float& v : p.x) v = middle + noise(random) * 0.3f;
  }
  std::vector<Centre> start;
  for (std::int64_t k = 0; k < 10; ++k) start.push_back({k, points[static_cast<std::size_t>(k) * 17].x});
  const auto there = query::from(points).as_accelerated().cached();
  (void)there.count();
  bench::race k("k-means, 1e6 x 20, K 10, 20 rounds");
  k.add("GPU", [&] { return kmeans(there, start, 20); });
  k.add("CPU", [&] { return kmeans(query::from(points), start, 20); });
  k.run(3);
  std::printf("  GPU: %.3f ms a round\n", k.median_of(0) / 20);
}
