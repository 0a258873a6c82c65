// Is the choice of the cost model the faster engine? Each query at three sizes: on the CPU, on the GPU, and where the model puts
// it. The last column is the time of the choice over that of the better of the two; 1.00 is right.
//
//   gpu_placement [rows of the largest size]      33,554,432 by default
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace {

struct Row {
  std::uint32_t key;
  float weight;
  double value;
};
QUERY_RECORD(Row, key, weight, value);
struct Side {
  std::uint32_t id;
  float rate;
};
QUERY_RECORD(Side, id, rate);

std::vector<Row> make_rows(std::size_t n) {
  std::vector<Row> rows(n);
  std::uint64_t state = 88172645463325252ull;
  for (Row& r : rows) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    r = {static_cast<std::uint32_t>(state >> 32), static_cast<float>(state & 1023), static_cast<double>(state >> 40)};
  }
  return rows;
}

using rows_query = query::Query<Row>;
const std::vector<Side> sides = [] {
  std::vector<Side> s(100000);
  for (std::uint32_t i = 0; i < s.size(); ++i) s[i] = {i, static_cast<float>(i)};
  return s;
}();

double where_sum(const rows_query& q) {
  return q.where([](auto r) { return r.value > 1e6; }).select([](auto r) { return r.value * 0.5 + 1.0; }).sum();
}
double costly_sum(const rows_query& q) {
  return q
      .select(
          [](auto r) { return query::exp(query::sin(r.value) * query::cos(r.value)) + query::sqrt(r.value) * query::log(r.value + 1.0); })
      .sum();
}
double where_rows(const rows_query& q) {
  return static_cast<double>(q.where([](auto r) { return r.weight > 900.0f; }).select([](auto r) { return r.value; }).to_vector().size());
}
template <std::uint32_t Groups> double groups(const rows_query& q) {
  return static_cast<double>(q.group_by([](auto r) { return r.key % Groups; })
                                 .select([](auto g) { return std::pair(g.key(), g.sum([](auto r) { return r.value; })); })
                                 .to_vector()
                                 .size());
}
double sorted(const rows_query& q) {
  return q.order_by([](auto r) { return r.value; }).to_vector().back().value;
}
double largest(const rows_query& q) {
  return q.order_by_descending([](auto r) { return r.value; }).take(10).to_vector().back().value;
}
double joined(const rows_query& q) {
  return q
      .join(
          query::from(sides), [](auto r) { return r.key % 200000u; }, [](auto s) { return s.id; },
          [](auto r, auto s) { return r.weight * s.rate; })
      .sum();
}
double distinct_keys(const rows_query& q) {
  return static_cast<double>(q.distinct_by([](auto r) { return r.key % 1000000u; }).count());
}

struct contest {
  const char* name;
  double (*run)(const rows_query&);
};
constexpr contest contests[] = {{"where, select, sum", where_sum},
                                {"sum of costly functions", costly_sum},
                                {"where, select, rows", where_rows},
                                {"group_by, 100 groups", groups<100>},
                                {"group_by, 2,000,000 groups", groups<2000000>},
                                {"order_by, rows", sorted},
                                {"order_by, the first ten", largest},
                                {"join, sum", joined},
                                {"distinct_by, count", distinct_keys}};

double best_of(int rounds, const std::function<double()>& f) {
  double best = 1e30;
  for (int i = -1; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    (void)f();
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i >= 0) best = std::min(best, s);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t most = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 25;
  query::Session forced({.gpu_min_rows = 0}), choosing;
  if (const std::string missing = forced.gpu_status(); !missing.empty()) {
    std::printf("left out: no GPU: %s\n", missing.c_str());
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Row> few = make_rows(100000);
  (void)query::from(few).as_accelerated().in(choosing).select([](auto r) { return r.value; }).explain("sum");
  std::printf("calibrated and planned in %.0f ms\n",
              std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  double worst = 1, logs = 0;
  int n = 0;
  for (const std::size_t size : {most / 512, most / 16, most}) {
    const std::vector<Row> rows = make_rows(size);
    for (const bool there : {false, true}) {
      const rows_query host = query::from(rows).in(choosing), on_gpu = query::from(rows).as_accelerated().in(forced),
                       open = query::from(rows).as_accelerated().in(choosing);
      const rows_query forced_rows = there ? rows_query(on_gpu.cached()) : on_gpu, open_rows = there ? rows_query(open.cached()) : open;
      std::printf("%zu rows of 16 bytes, %s: ms on the CPU, on the GPU, chosen; chosen / better\n", size,
                  there ? "cached there" : "of the host");
      for (const contest& c : contests) {
        const int rounds = size < 1000000 ? 9 : 3;
        const double cpu = best_of(rounds, [&] { return c.run(host); }), gpu = best_of(rounds, [&] { return c.run(forced_rows); }),
                     chosen = best_of(rounds, [&] { return c.run(open_rows); });
        const double ratio = chosen / std::min(cpu, gpu);
        std::printf("  %-30s %9.3f %9.3f %9.3f   %5.2f%s\n", c.name, cpu * 1e3, gpu * 1e3, chosen * 1e3, ratio,
                    ratio > 1.25 ? "  <--" : "");
        worst = std::max(worst, ratio);
        logs += std::log(std::max(ratio, 1.0));
        ++n;
      }
    }
    const auto open = query::from(rows).as_accelerated().in(choosing);
    std::printf("%s%s",
                open.where([](auto r) { return r.value > 1e6; }).select([](auto r) { return r.value * 0.5; }).explain("sum").c_str(),
                open.order_by([](auto r) { return r.value; }).explain().c_str());
    std::fflush(stdout);
  }
  std::printf("chosen / better: geometric mean %.3f, worst %.2f\n", std::exp(logs / n), worst);
}
