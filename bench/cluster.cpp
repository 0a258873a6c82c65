// Queries in one process and in several of this machine, with as many threads in all: what dividing rows, sending them and leading cost.
//
//   cluster [ROWS] [PROCESSES]      ten million rows, and two processes, if nothing else is said
//
// The answers of all are compared first. A process of its own for the same number of threads is no faster; the figure is what it loses.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "timing.hpp"

namespace {

struct row {
  std::int32_t id, key, wide;
  double x;
};
QUERY_RECORD(row, id, key, wide, x);
struct total {
  std::int32_t key;
  double sum;
};
QUERY_RECORD(total, key, sum);
struct pair {
  std::int32_t id;
  double x, y;
};
QUERY_RECORD(pair, id, x, y);
struct center {
  std::int32_t id;
  double x;
};
QUERY_RECORD(center, id, x);

double sum_of(const std::vector<total>& all) {
  double s = 0;
  for (const total& t : all) s += t.sum * (1 + t.key % 7);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  query::container_main();
  const auto n = static_cast<std::size_t>(argc > 1 ? std::atof(argv[1]) : 1e7);
  const int processes = argc > 2 ? std::atoi(argv[2]) : 2;
  std::mt19937_64 g(1);
  std::vector<row> rows(n);
  for (std::size_t i = 0; i < n; ++i)
    rows[i] = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(g() % 1000), static_cast<std::int32_t>(g() % (n / 10)),
               static_cast<double>(g() % 4096)};
  std::vector<total> medium;
  for (std::size_t i = 0; i < n / 100; ++i) medium.push_back({static_cast<std::int32_t>(i * 10), static_cast<double>(i % 100)});

  query::Session one({.gpu = query::gpu_use::off});
  query::Session many = query::Session::cluster("local:" + std::to_string(processes), {.gpu = query::gpu_use::off});
  std::printf("%zu rows; one process with %d threads, %d processes with %d threads each\n", n, one.threads(), processes, many.threads());

  const auto ask = [&](const std::string& name, auto f) {
    bench::race race(name);
    race.add("one process", [&] { return f(one); });
    race.add(std::to_string(processes) + " processes", [&] { return f(many); });
    race.run(5);
  };
  const auto q = query::from(rows);
  ask("filter and sum", [&](query::Session& s) {
    return q.in(s).where([](auto r) { return r.key < 500; }).select([](auto r) { return r.x; }).sum();
  });
  ask("group by 1,000 keys, sum", [&](query::Session& s) {
    return sum_of(q.in(s).group_by([](auto r) { return r.key; })
                      .select([](auto g) { return query::make<total>(g.key(), g.sum([](auto r) { return r.x; })); })
                      .to_vector());
  });
  ask("group by a tenth as many keys as rows, sum", [&](query::Session& s) {
    return sum_of(q.in(s).group_by([](auto r) { return r.wide; })
                      .select([](auto g) { return query::make<total>(g.key(), g.sum([](auto r) { return r.x; })); })
                      .to_vector());
  });
  ask("join with a medium table, sum", [&](query::Session& s) {
    return q.in(s)
        .join(query::from(medium), [](auto r) { return r.wide; }, [](auto m) { return m.key; },
              [](auto r, auto m) { return query::make<pair>(r.id, r.x, m.sum); })
        .select([](auto p) { return p.x * p.y; })
        .sum();
  });
  ask("sort by a double", [&](query::Session& s) {
    const auto sorted = q.in(s).order_by([](auto r) { return r.x; }).then_by([](auto r) { return r.key; }).to_vector();
    return static_cast<double>(sorted[n / 2].id) + static_cast<double>(sorted[n / 3].id);
  });
  ask("ten rounds of k-means in one dimension, 16 centers", [&](query::Session& s) {
    std::vector<center> first;
    for (int i = 0; i < 16; ++i) first.push_back({i, 256.0 * i + 100});
    const auto last =
        query::from(first)
            .do_while(
                [points = q.in(s).as_query()](query::Query<center> now) {
                  const auto centers = query::broadcast(now);
                  const auto distance = [](auto p, auto c) { return (p.x - c.x) * (p.x - c.x); };
                  return points.group_by([centers, distance](auto p) { return centers.arg_min(p, distance); })
                      .select([](auto g) {
                        return query::make<center>(g.key(), query::floor(g.sum([](auto p) { return p.x; }) / g.count()));
                      })
                      .order_by([](auto c) { return c.id; });
                },
                query::times(10))
            .to_vector();
    double s2 = 0;
    for (const center& c : last) s2 += c.x * (c.id + 1);
    return s2;
  });
}
