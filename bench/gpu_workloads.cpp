// What crosses the bus while a query runs, counted at the driver's calls: k-means of more rounds copies no more, a stream made on the
// device nothing but its groups. The same queries as examples/18 and 19, sizes as arguments.
//
//   gpu_workloads [points] [gigabytes of the stream]      4,194,304 and 20 by default
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"

namespace {

using namespace query::gpu_engine;

struct Point {
  std::array<float, 16> x;
};
struct Center {
  std::int64_t id;
  std::array<float, 16> x;
};
QUERY_RECORD(Point, x);
QUERY_RECORD(Center, id, x);

struct counters {
  std::size_t copies = 0, bytes = 0, launches = 0, graphs = 0;
};
counters counted;
const driver* real = nullptr;

const driver& counting_driver() {
  static const driver counting = [] {
    driver d = *real;
    d.cuMemcpyHtoDAsync = [](device_address to, const void* from, std::size_t n, stream_handle s) {
      ++counted.copies, counted.bytes += n;
      return real->cuMemcpyHtoDAsync(to, from, n, s);
    };
    d.cuMemcpyDtoHAsync = [](void* to, device_address from, std::size_t n, stream_handle s) {
      ++counted.copies, counted.bytes += n;
      return real->cuMemcpyDtoHAsync(to, from, n, s);
    };
    d.cuLaunchKernel = [](function_handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          stream_handle s, void** arguments, void** extra) {
      ++counted.launches;
      return real->cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, arguments, extra);
    };
    if (d.cuGraphLaunch)
      d.cuGraphLaunch = [](graph_program_handle g, stream_handle s) {
        ++counted.graphs;
        return real->cuGraphLaunch(g, s);
      };
    return d;
  }();
  return counting;
}

template <class F> void report(const std::string& what, F f) {
  f();  // compiles
  counted = {};
  const auto begin = std::chrono::steady_clock::now();
  f();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%s: %.2f ms; %zu copies, %zu bytes over the bus, %zu kernels launched, %zu graphs\n", what.c_str(), ms, counted.copies,
              counted.bytes, counted.launches, counted.graphs);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 22;
  const double gigabytes = argc > 2 ? std::atof(argv[2]) : 20;
  real = driver::find();
  if (!real || !compiler::find()) {
    std::printf("left out: no GPU: %s\n", (real ? compiler::why_not() : driver::why_not()).c_str());
    return 0;
  }
  const device on(counting_driver(), 0);
  kernel_cache kernels({.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = {}, .compile = {}});
  query::Session session({.gpu = query::gpu_use::off});
  session.add_engine(make_engine(on, {std::size_t{4} << 30, 0}, kernels));

  std::vector<Point> points(n);
  std::uint64_t state = 88172645463325252ull;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 16; ++d) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      points[i].x[d] = static_cast<float>((i % 64) >> d % 6 & 1) + static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
    }
  std::vector<Center> first;
  for (std::int64_t k = 0; k < 64; ++k) first.push_back({k, points[static_cast<std::size_t>(k)].x});
  for (const int rounds : {10, 50, 250})
    report("k-means, " + std::to_string(n) + " points of the host, " + std::to_string(rounds) + " rounds", [&] {
      (void)query::from(first)
          .as_accelerated()
          .in(session)
          .do_while(
              [&](query::Query<Center> now) {
                const auto c = query::broadcast(now);
                return query::from(points)
                    .as_accelerated()
                    .group_by([c](auto p) { return c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); })
                    .select([](auto g) { return query::make<Center>(g.key(), g.mean([](auto p) { return p.x; })); });
              },
              query::times(rounds))
          .to_vector();
    });
  const auto rows = static_cast<std::uint64_t>(gigabytes * 1e9 / 8);
  report(std::to_string(rows) + " rows of a stream, 1,024 groups", [&] {
    (void)query::range(std::uint64_t{0}, rows)
        .as_accelerated()
        .in(session)
        .select([](auto i) {
          const auto x = i * 0x9E3779B97F4A7C15u;
          return std::pair(x >> 54u, query::cast<double>(x >> 20u & 0xFFFFu));
        })
        .group_by([](auto r) { return r.first; })
        .select([](auto g) { return std::tuple(g.key(), g.count(), g.mean([](auto r) { return r.second; })); })
        .to_vector();
  });
}
