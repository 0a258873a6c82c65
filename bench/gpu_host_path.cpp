// What a query whose kernels are known costs the host, in microseconds of its thread: where the GPU is asked and has to take it, where the
// cost model weighs it, where the GPU takes it again unasked, without as_accelerated(), and where it is left to the CPU. Needs no GPU and
// no compiler: the engine runs on the tests' driver double, whose kernels do nothing, so results mean nothing either; the double's own
// work is in the figures.
//
//   gpu_host_path [runs of each]      2000 by default
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/fixed_rates.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "gpu_rows.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

using bench::Row;
using bench::Side;

double thread_us() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}
// The least of nine means.
template <class F> double mean_us(int times, const F& f) {
  for (int i = 0; i < 20; ++i) f();
  double best = 1e30;
  for (int r = 0; r < 9; ++r) {
    const double before = thread_us();
    for (int i = 0; i < times / 9; ++i) f();
    best = std::min(best, (thread_us() - before) / (times / 9));
  }
  return best;
}

// Rates at which the GPU is worth its launches even for few rows.
rates eager() {
  rates r = fixed_rates();
  r.launch = 1e-9;
  return r;
}

class measured {
 public:
  measured() {
    fake_.allow_unknown_kernels();
    std::filesystem::remove_all(folder_);
    for (const bool weighs : {false, true}) {
      auto made = make_engine(device_, {std::size_t{1} << 29, 0}, kernels_);
      costs_of(*made).kernels().keep_in(disk_cache(folder_), "driver double", kernels_);
      query::runtime::session_state& session = *(weighs ? weighing_ : forced_).state();
      if (weighs) {
        costs_of(*made).by(eager());
        session.cpu->expects([r = eager()] { return &r; });
      }
      session.take_gpu(std::move(made));
    }
  }
  ~measured() { std::filesystem::remove_all(folder_); }

  template <class Run> void line(const char* name, int times, const std::vector<Row>& rows, const Run& run) {
    const auto cached = [&](const query::Session& s) { return query::Query<Row>(query::from(rows).as_accelerated().in(s).cached()); };
    const query::Query<Row> forced = cached(forced_), weighed = cached(weighing_);
    const query::Query<Row> plain = query::from(rows).in(forced_), left = query::from(rows).as_accelerated().in(weighing_);
    const auto asked = [&](const query::Query<Row>& q, const query::Session& s) {
      return mean_us(times, [&] {
        s.state()->history.ways.forget_all();
        run(q);
      });
    };
    const double all = asked(forced, forced_), with = asked(weighed, weighing_), again = mean_us(times, [&] { run(forced); }),
                 here = mean_us(times, [&] { run(plain); }), left_here = mean_us(times, [&] { run(left); });
    std::printf("%-28s %10.1f %10.1f %10.1f %10.1f %10.1f\n", name, all, with, again, here, left_here);
    std::fflush(stdout);
  }

 private:
  const std::string folder_ = (std::filesystem::temp_directory_path() / "query_gpu_host_path").string();
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = folder_, .compile = [](std::string_view source, int) {
                           return image_of(source);
                         }}};
  query::Session forced_{{.threads = 2}}, weighing_{{.threads = 2}};
};

}  // namespace

int main(int argc, char** argv) {
  const int times = std::max(argc > 1 ? std::atoi(argv[1]) : 2000, 9);
  const std::string only = argc > 2 ? argv[2] : "";
  std::vector<Row> rows(4000);
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = {i, static_cast<float>(i), static_cast<double>(i)};
  std::vector<Side> sides(1000);
  for (std::uint32_t i = 0; i < sides.size(); ++i) sides[i] = {i, 1};
  measured m;
  std::printf("%-28s %10s %10s %10s %10s %10s   us, 4,000 rows\n", "", "forced", "weighed", "again", "no GPU", "left here");
  const auto line = [&](const char* name, const auto& run) {
    if (only.empty() || only == name) m.line(name, times, rows, run);
  };
  line("sum", [](const auto& q) { (void)q.sum([](auto r) { return r.value; }); });
  line("where, select, sum", [](const auto& q) {
    (void)q.where([](auto r) { return r.value > 1e6; }).select([](auto r) { return r.value * 0.5 + 1.0; }).sum();
  });
  line("where, select, rows", [](const auto& q) {
    (void)q.where([](auto r) { return r.weight > 900.0f; }).select([](auto r) { return r.value; }).to_vector();
  });
  line("group_by, 100 groups", [](const auto& q) {
    (void)q.group_by([](auto r) { return r.key % 100u; })
        .select([](auto g) { return std::pair(g.key(), g.sum([](auto r) { return r.value; })); })
        .to_vector();
  });
  line("order_by, rows", [](const auto& q) { (void)q.order_by([](auto r) { return r.value; }).to_vector(); });
  line("join, sum", [&](const auto& q) {
    (void)q.join(
               query::from(sides), [](auto r) { return r.key % 2000u; }, [](auto s) { return s.id; },
               [](auto r, auto s) { return r.weight * s.rate; })
        .sum();
  });
  line("distinct_by, count", [](const auto& q) { (void)q.distinct_by([](auto r) { return r.key % 1000u; }).count(); });
}
