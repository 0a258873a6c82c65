// The CPU's rates, by queries of the library itself: each operator over rows enough for all threads to have work.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "runtime/best_seconds.hpp"
#include "runtime/cpu_costs.hpp"

namespace query::runtime {

namespace {

struct measured_row {
  std::uint32_t key;
  std::uint32_t group;
  double value;
};
struct measured_side {
  std::uint32_t id;
  float rate;
};
struct measured_point {
  std::array<float, 16> x;
};

QUERY_RECORD(measured_row, key, group, value);
QUERY_RECORD(measured_side, id, rate);
QUERY_RECORD(measured_point, x);

constexpr std::size_t scanned = std::size_t{1} << 25;  // rows of a scan, 512 MiB: more than most caches hold
constexpr std::size_t computed_on = std::size_t{1} << 22;  // fixed parts for 64 threads
constexpr std::uint32_t few_groups = 1024;
constexpr std::size_t searched = std::size_t{1} << 16, looked_through = 16;  // points, and those that the nearest is looked for among
constexpr double long_enough = 0.03;          // seconds: what took so long once is not measured again
constexpr double operations_of_the_scan = 7;  // as work is counted: two functions, a comparison, a product, a sum, the fold

// Enough for each thread, and a few milliseconds of work.
std::size_t rows_for(int threads) { return std::size_t{1} << std::clamp(16 + threads / 4, 16, 20); }

template <class F> double seconds_of(F f) { return best_seconds(2, std::move(f), long_enough); }

double sum_of(const query::Query<measured_row>& q) {
  return q.where([](auto r) { return r.value > 16.0; }).select([](auto r) { return r.value * 0.5 + 1.0; }).sum();
}

// 24 products and sums, of numbers from 0 to 1.
template <class T> T polynomial(T x) {
  const auto half = ((((((x * 0.3 + 0.7) * x - 0.1) * x + 0.4) * x - 0.9) * x + 0.2) * x + 0.5) * x;
  return (((((half - 0.6) * x + 0.8) * x - 0.3) * x + 0.1) * x - 0.7) * x;
}
constexpr double operations_of_polynomials = 52;
double polynomials_of(const query::Query<measured_row>& q) {
  return q.select([](auto r) { return polynomial(r.value * 0.0009) + polynomial(r.value * 0.0007); }).sum();
}
double logarithms_of(const query::Query<measured_row>& q) {
  return q.select([](auto r) { return query::log(r.value + 1.0) + query::log(r.value + 2.0); }).sum();
}

template <class Key> double groups_of(const query::Query<measured_row>& q, Key key) {
  const auto sums = q.group_by(key).select([](auto g) { return std::pair(g.key(), g.sum([](auto x) { return x.value; })); });
  return static_cast<double>(sums.count());
}

void set_nearest(host_rates& r, const query::Session& session, int threads, double& answer) {
  const std::size_t n = searched * static_cast<std::size_t>(std::clamp(threads, 1, 32));  // a part for each
  std::vector<measured_point> points(n), places(looked_through);
  float x = 0;
  for (auto* list : {&points, &places})
    for (measured_point& p : *list)
      for (float& c : p.x) c = x = x > 100 ? x - 99.3f : x + 1.7f;
  const auto among = query::broadcast(places);
  const auto nearest = query::from(points).in(session).select(
      [among](auto p) { return among.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); });
  const double s = seconds_of([&] { answer += static_cast<double>(nearest.sum()); });
  r.row[static_cast<std::size_t>(operation::nearest)] = std::max(s - r.start, s / 8) / static_cast<double>(n * looked_through * 16);
}

}  // namespace

host_rates measured_host(int threads) {
  host_rates r;
  const std::size_t worked_on = rows_for(threads);
  const query::Session session({.threads = threads, .gpu = query::gpu_use::off});
  std::vector<measured_row> rows(scanned);
  std::uint64_t state = 88172645463325252ull;
  for (measured_row& x : rows) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x = {static_cast<std::uint32_t>(state >> 32) % static_cast<std::uint32_t>(worked_on),
         static_cast<std::uint32_t>(state >> 20) % few_groups, static_cast<double>(state & 1023)};
  }
  const std::vector<measured_row> some(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(worked_on)),
      enough(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(computed_on)), handful(rows.begin(), rows.begin() + 256);
  std::vector<measured_side> sides(few_groups * 16);
  for (std::uint32_t i = 0; i < sides.size(); ++i)
    sides[i] = {i * static_cast<std::uint32_t>(worked_on / sides.size()), static_cast<float>(i)};
  double answer = 0;  // kept, so that nothing is left out
  const auto all = query::from(rows).in(session).as_query(), large = query::from(some).in(session).as_query(),
             small = query::from(handful).in(session).as_query();

  r.threads = std::min<double>(threads, static_cast<double>(worked_on) / 65536.0);  // those that have a part to work on here
  r.threads = std::max(r.threads, 1.0);
  r.start = seconds_of([&] { answer += sum_of(small); });
  double reading = 1;
  const auto read_all = [&] { answer += static_cast<double>(all.select([](auto x) { return x.group; }).max().value_or(0)); };
  for (int i = 0; i < 3; ++i) reading = std::min(reading, seconds_of(read_all));  // others use the memory too
  r.host_memory = static_cast<double>(scanned * sizeof(measured_row)) / reading;
  const auto set = [&](operation o, double s, double operations = 1) {
    r.row[static_cast<std::size_t>(o)] = std::max(s - r.start, s / 8) / (static_cast<double>(worked_on) * operations);
  };
  set(operation::row_wise, seconds_of([&] { answer += sum_of(large); }), operations_of_the_scan);
  double sink = 0;  // of either sign
  const auto a_row = [&](double s) { return std::max(s - r.start, 1e-9) / static_cast<double>(computed_on); };
  const auto parts_for_all = query::from(enough).in(session).as_query();
  r.plain_operation = a_row(seconds_of([&] { sink += polynomials_of(parts_for_all); })) / operations_of_polynomials;
  r.call = a_row(seconds_of([&] { answer += logarithms_of(parts_for_all); })) / 2;
  if (sink != sink) r.plain_operation = 0;  // not sensible
  set(operation::collect,
      seconds_of([&] { answer += static_cast<double>(large.where([](auto x) { return x.value > 512.0; }).to_vector().size()); }),
      sizeof(measured_row) / 2.0);
  // How many groups there will be is not known: the mean of few and of nearly as many as rows.
  const double few = seconds_of([&] { answer += groups_of(large, [](auto x) { return x.group; }); });
  const double many = seconds_of([&] { answer += groups_of(large, [](auto x) { return x.key; }); });
  set(operation::group, (few + many) / 2);
  r.row[static_cast<std::size_t>(operation::group_few)] =
      std::max(seconds_of([&] { answer += groups_of(all, [](auto x) { return x.group; }); }) - r.start, 1e-6) /
      static_cast<double>(scanned);
  set(operation::sort, seconds_of([&] { answer += large.order_by([](auto x) { return x.value; }).to_vector().back().value; }));
  const auto matched = large.join(
      query::from(sides).in(session), [](auto x) { return x.key; }, [](auto x) { return x.id; },
      [](auto x, auto y) { return x.value * query::cast<double>(y.rate); });
  set(operation::join, seconds_of([&] { answer += matched.sum(); }));
  set(operation::distinct, seconds_of([&] { answer += static_cast<double>(large.distinct_by([](auto x) { return x.key; }).count()); }));
  set_nearest(r, session, threads, answer);
  if (!(answer > 0)) r.start = 0;  // not sensible
  return r;
}

}  // namespace query::runtime
