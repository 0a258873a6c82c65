// One pass over rows of the host, by the CPU, by the GPU, and divided between both: which is the fastest, and does the model know?
// Medians of rounds that take turns; the ratio is the better of the two over both together, 1.15 and more is what dividing is for.
//
//   gpu_split [rows] [sweep]      67,108,864 rows of 16 bytes by default; "sweep": by numbers of threads that the model did not choose
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/engine.hpp"
#include "runtime/session_state.hpp"
#include "timing.hpp"

namespace {

struct Point {
  double x, y;
};
QUERY_RECORD(Point, x, y);

std::vector<Point> make_points(std::size_t n) {
  std::vector<Point> rows(n);
  std::uint64_t state = 88172645463325252ull;
  const auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (Point& p : rows) p = {next(), next()};
  return rows;
}

using points = query::Query<Point>;

template <class T> T horner(T x) {  // 12 products and sums
  return ((((((x * 0.3 + 0.7) * x + 0.1) * x - 0.4) * x + 0.9) * x - 0.2) * x + 0.5) * x;
}

auto products(const points& q) {
  return q.where([](auto p) { return p.x > 0.25; }).select([](auto p) { return p.x * p.y; });
}
auto polynomials(const points& q) {
  return q.where([](auto p) { return p.x > 0.25; }).select([](auto p) { return horner(p.x) * horner(p.y); });
}
auto distances(const points& q) {
  return q.where([](auto p) { return p.y > 0.25; }).select([](auto p) { return query::sqrt(p.x * p.x + p.y * p.y) / (1.0 + p.x); });
}
auto logarithms(const points& q) {
  return q.where([](auto p) { return p.x > 0.25; }).select([](auto p) { return query::log(p.x) * p.y; });
}
auto gaussians(const points& q) {
  return q.where([](auto p) { return p.x > 0.25; }).select([](auto p) { return query::exp(-(p.x * p.x)) * query::log(p.y + 1.0); });
}
auto roots(const points& q) {
  return q.select([](auto p) { return query::sqrt(p.x) * horner(p.y); });
}
auto few(const points& q) {
  return q.where([](auto p) { return query::log(p.x + 1.0) * p.y > 0.6; });
}

struct contest {
  const char* name;
  double (*run)(const points&);
  std::string (*plan)(const points&);
};
template <class Q> std::string line_of(const Q& q, const char* terminal) {
  const std::string plan = q.explain(terminal);
  std::string found = "not divided";
  for (std::size_t at = 0; at < plan.size();) {
    const std::size_t end = std::min(plan.find('\n', at), plan.size());
    const std::string line = plan.substr(at, end - at);
    const bool placed = line.find("pu: ") != std::string::npos && !line.starts_with("  result");
    if (placed || line.find("split: ") != std::string::npos) found = line.substr(line.find_first_not_of(' '));
    at = end + 1;
  }
  return found;
}
template <auto Pass> contest sum_of(const char* name) {
  return {name, [](const points& q) { return Pass(q).sum(); }, [](const points& q) { return line_of(Pass(q), "sum"); }};
}
const contest contests[] = {
    sum_of<products>("where, product, sum"),
    sum_of<polynomials>("where, two polynomials, sum"),
    sum_of<distances>("where, sqrt and quotient, sum"),
    sum_of<logarithms>("where, log, sum"),
    sum_of<gaussians>("where, exp and log, sum"),
    {"where with log, rows (a few percent)", [](const points& q) { return static_cast<double>(few(q).to_vector().size()); },
     [](const points& q) { return line_of(few(q), "to_vector"); }},
    {"sqrt and a polynomial, max", [](const points& q) { return roots(q).max().value_or(0); },
     [](const points& q) { return line_of(roots(q), "max"); }},
};

// The GPU engine, with costs by which it gets a share that is not the model's.
class with_share final : public query::runtime::engine {
 public:
  with_share(std::shared_ptr<query::runtime::engine> gpu, double share, int host_threads, int threads) : gpu_(std::move(gpu)) {
    costs_.on = "as told";
    costs_.here.all_rows = 10 / share;
    costs_.cpu.all_rows = 10 / (1 - share) * (threads - host_threads) / threads;
    costs_.host_threads = host_threads;
  }
  std::string_view name() const override { return "gpu"; }
  query::runtime::verdict accepts(const query::planner::vertex& v) const override { return told(gpu_->accepts(v)); }
  std::unique_ptr<query::runtime::running_vertex> start(const query::planner::vertex& v, std::span<query::runtime::input_port* const> in,
                                                        query::runtime::output_port& out, query::runtime::run_context& context) override {
    return gpu_->start(v, in, out, context);
  }
  int retries() const override { return gpu_->retries(); }

 private:
  query::runtime::verdict told(query::runtime::verdict v) const {
    if (v) v.costs = costs_;
    return v;
  }
  std::shared_ptr<query::runtime::engine> gpu_;
  query::runtime::part_costs costs_;
};

// The median of five, after one that is not counted.
double told_ms(const contest& c, const points& q) {
  std::vector<double> ms;
  for (int i = -1; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    (void)c.run(q);
    if (i >= 0) ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(ms.begin(), ms.end());
  return ms[2];
}

void sweep(const std::vector<Point>& rows, const contest& c) {
  query::runtime::without_gpu why;
  const std::shared_ptr<query::runtime::engine> gpu = query::runtime::make_gpu_engine({0, 0}, why);
  if (!gpu) return;
  const int all = query::Session({.gpu = query::gpu_use::off}).threads();
  std::printf("  alone, by fewer threads:");
  for (const int threads : {4, 6, 8, 12, 16, 24}) {
    if (threads >= all) continue;
    const query::Session cpu({.threads = threads, .gpu = query::gpu_use::off}), there({.threads = threads, .gpu_min_rows = 0});
    const double ms = told_ms(c, query::from(rows).in(cpu));
    std::printf("  %d: CPU %.2f, GPU %.2f", threads, ms, told_ms(c, query::from(rows).as_accelerated().in(there)));
  }
  std::printf(" ms\n  both, so many of the threads feed the GPU:");
  for (const int host : {3, 4, 5, 6, 7, 8, 10, 12, 16}) {
    if (2 * host > all) continue;
    query::Session session({.gpu = query::gpu_use::off});
    session.add_engine(std::make_shared<with_share>(gpu, 0.6, host, session.threads()));
    const double ms = told_ms(c, query::from(rows).as_accelerated().in(session));
    std::printf("  %d: %.2f%s", host, ms, session.state()->history.fallbacks().first ? " (fell back)" : "");
  }
  std::printf(" ms\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 26;
  const bool sweeps = argc > 2 && std::strcmp(argv[2], "sweep") == 0;
  query::Session here({.gpu = query::gpu_use::off}), there({.gpu_min_rows = 0}), choosing;
  if (const std::string missing = there.gpu_status(); !missing.empty()) {
    std::printf("left out: no GPU: %s\n", missing.c_str());
    return 0;
  }
  const std::vector<Point> rows = make_points(n);
  std::printf("%zu rows of 16 bytes, %d threads; medians\n", n, here.threads());
  const points on_cpu = query::from(rows).in(here), on_gpu = query::from(rows).as_accelerated().in(there),
               open = query::from(rows).as_accelerated().in(choosing);
  double best = 0;
  for (const contest& c : contests) {
    (void)c.run(on_gpu);  // compiles the kernels
    (void)c.run(open);
    bench::race r(c.name);
    r.add("cpu", [&] { return c.run(on_cpu); });
    r.add("gpu", [&] { return c.run(on_gpu); });
    r.add("as chosen", [&] { return c.run(open); });
    r.run(7);
    const double better = std::min(r.median_of(0), r.median_of(1)), ratio = better / r.median_of(2);
    std::printf("  %s\n  better of the two / as chosen: %.2f\n", c.plan(open).c_str(), ratio);
    best = std::max(best, ratio);
    if (sweeps) sweep(rows, c);
    std::fflush(stdout);
  }
  std::printf("fallbacks: %llu; best ratio %.2f\n", static_cast<unsigned long long>(choosing.state()->history.fallbacks().first), best);
  return best >= 1.15 ? 0 : 1;
}
