// Our side of the comparison with DuckDB and Polars: the same rows, made by the same formula, as in peers.py.
//
//   cases ROWS THREADS ROUNDS    prints: case, median ms, CPU time over wall time, answer
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

#include <query/query.hpp>

struct Sale {
  std::int64_t key;
  double value;
};
QUERY_RECORD(Sale, key, value);
struct Item {
  std::int64_t key;
  double weight;
};
QUERY_RECORD(Item, key, weight);
struct Total {
  std::int64_t key;
  double sum;
  std::int64_t n;
};
QUERY_RECORD(Total, key, sum, n);
struct Line {
  std::int32_t qty;
  double price;
};
QUERY_RECORD(Line, qty, price);

namespace {

std::uint64_t mixed(std::uint64_t i) {  // splitmix64
  i += 0x9E3779B97F4A7C15ull;
  i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9ull;
  i = (i ^ (i >> 27)) * 0x94D049BB133111EBull;
  return i ^ (i >> 31);
}

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class F> void time_case(const char* name, int rounds, F f) {
  std::vector<double> ms, share;
  double answer = 0;
  for (int r = -1; r < rounds; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    answer = f();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (r < 0) continue;
    ms.push_back(wall * 1e3);
    share.push_back((cpu_seconds() - cpu) / wall);
  }
  std::sort(ms.begin(), ms.end());
  std::sort(share.begin(), share.end());
  std::printf("%s,%.2f,%.2f,%.17g\n", name, ms[ms.size() / 2], share[share.size() / 2], answer);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::stoull(argv[1]) : 50'000'000;
  const int threads = argc > 2 ? std::stoi(argv[2]) : 2;
  const int rounds = argc > 3 ? std::stoi(argv[3]) : 5;
  const query::Session session({.threads = threads});

  {
    std::vector<std::int32_t> qty(n);
    std::vector<double> price(n);
    for (std::size_t i = 0; i < n; ++i) qty[i] = static_cast<std::int32_t>(mixed(i) % 100), price[i] = static_cast<double>(mixed(i + n) >> 40) * 0.01;
    const auto lines = query::from(query::columns<Line>(qty, price)).in(session);
    time_case("filter_sum", rounds, [&] { return lines.where([](auto t) { return t.qty > 50; }).sum([](auto t) { return t.price * t.qty; }); });
  }
  {
    std::vector<Sale> sales(n);
    for (std::size_t i = 0; i < n; ++i) sales[i] = {static_cast<std::int64_t>(mixed(i) % 1000), static_cast<double>(mixed(i + n) >> 40) * 0.01};
    time_case("group_by_1k", rounds, [&] {
      const auto totals = query::from(sales).in(session).group_by([](auto s) { return s.key; }).select([](auto g) {
        return query::make<Total>(g.key(), g.sum([](auto s) { return s.value; }), g.count());
      });
      double check = 0;
      for (const Total& t : totals.to_vector()) check += t.sum * static_cast<double>(t.key);
      return check;
    });
  }
  {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(mixed(i) >> 11) * 0x1p-53;
    time_case("order_by_doubles", rounds, [&] {
      const std::vector<double> sorted = query::from(values).in(session).order().to_vector();
      return sorted[n / 2] + sorted[n / 10] + sorted.front() + sorted.back();
    });
  }
  {
    const std::size_t m = 1'000'000;
    std::vector<Sale> sales(n);
    for (std::size_t i = 0; i < n; ++i) sales[i] = {static_cast<std::int64_t>(mixed(i) % (2 * m)), static_cast<double>(mixed(i + n) >> 40) * 0.01};
    std::vector<Item> items(m);
    for (std::size_t i = 0; i < m; ++i) items[i] = {static_cast<std::int64_t>((i * 2) % (2 * m)), static_cast<double>(mixed(i + 2 * n) % 1000)};
    time_case("join_1m", rounds, [&] {
      return query::from(sales).in(session)
          .join(query::from(items), [](auto s) { return s.key; }, [](auto i) { return i.key; }, [](auto s, auto i) { return s.value * i.weight; })
          .sum();
    });
  }
}
