// Our side of the comparison with DuckDB and Polars: the same rows, made by the same formula, as in peers.py, which drives it.
//
//   cases ROWS THREADS    reads orders, a line each: "case NAME" makes the rows and answers "ready"; "run" runs the case once
//                         and answers ms, CPU time over wall time, result; a new case frees the rows of the one before
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include <query/query.hpp>

struct Sale {
  std::int64_t key;
  double value;
};
QUERY_RECORD(Sale, key, value);
struct SmallSale {
  std::int32_t key;
  double value;
};
QUERY_RECORD(SmallSale, key, value);
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

double amount(std::uint64_t i) { return static_cast<double>(mixed(i) >> 40) * 0.01; }

using runner = std::function<double()>;

runner filter_sum(std::size_t n, const query::Session& session) {
  auto qty = std::make_shared<std::vector<std::int32_t>>(n);
  auto price = std::make_shared<std::vector<double>>(n);
  for (std::size_t i = 0; i < n; ++i) (*qty)[i] = static_cast<std::int32_t>(mixed(i) % 100), (*price)[i] = amount(i + n);
  return [=] {
    const auto lines = query::from(query::columns<Line>(*qty, *price)).in(session);
    return lines.where([](auto t) { return t.qty > 50; }).sum([](auto t) { return t.price * t.qty; });
  };
}

// Key: of row i, a number below 1000, or that number spread over 64 bits.
template <class Row> runner group_by(std::size_t n, const query::Session& session, bool spread) {
  auto sales = std::make_shared<std::vector<Row>>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t k = mixed(i) % 1000;
    (*sales)[i] = {static_cast<decltype(Row::key)>(spread ? mixed(k + 7) : k), amount(i + n)};
  }
  return [=] {
    const auto totals = query::from(*sales).in(session).group_by([](auto s) { return s.key; }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto s) { return s.value; }), g.count());
    });
    double check = 0;
    for (const Total& t : totals.to_vector()) check += t.sum * static_cast<double>(t.key % 1000);
    return check;
  };
}

runner order_by_doubles(std::size_t n, const query::Session& session) {
  auto values = std::make_shared<std::vector<double>>(n);
  for (std::size_t i = 0; i < n; ++i) (*values)[i] = static_cast<double>(mixed(i) >> 11) * 0x1p-53;
  return [=] {
    const std::vector<double> sorted = query::from(*values).in(session).order().to_vector();
    return sorted[n / 2] + sorted[n / 10] + sorted.front() + sorted.back();
  };
}

runner join_1m(std::size_t n, const query::Session& session) {
  const std::size_t m = 1'000'000;
  auto sales = std::make_shared<std::vector<Sale>>(n);
  for (std::size_t i = 0; i < n; ++i) (*sales)[i] = {static_cast<std::int64_t>(mixed(i) % (2 * m)), amount(i + n)};
  auto items = std::make_shared<std::vector<Item>>(m);
  for (std::size_t i = 0; i < m; ++i) (*items)[i] = {static_cast<std::int64_t>(i * 2), static_cast<double>(mixed(i + 2 * n) % 1000)};
  return [=] {
    const auto value = [](auto s, auto i) { return s.value * i.weight; };
    const auto key = [](auto row) { return row.key; };
    return query::from(*sales).in(session).join(query::from(*items), key, key, value).sum();
  };
}

runner named(const std::string& name, std::size_t n, const query::Session& session) {
  if (name == "filter_sum") return filter_sum(n, session);
  if (name == "group_by_1k") return group_by<Sale>(n, session, false);
  if (name == "group_by_1k_int32") return group_by<SmallSale>(n, session, false);
  if (name == "group_by_1k_spread") return group_by<Sale>(n, session, true);
  if (name == "order_by_doubles") return order_by_doubles(n, session);
  if (name == "join_1m") return join_1m(n, session);
  throw query::user_error("no such case: " + name);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::stoull(argv[1]) : 50'000'000;
  const int threads = argc > 2 ? std::stoi(argv[2]) : 2;
  query::Session session({.threads = threads});
  runner run;
  for (std::string order; std::getline(std::cin, order);) {
    if (order.starts_with("case ")) {
      run = nullptr;
      session.trim();
      run = named(order.substr(5), n, session);
      std::puts("ready");
    } else {
      const auto begin = std::chrono::steady_clock::now();
      const double cpu = cpu_seconds();
      const double answer = run();
      const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::printf("%.3f,%.3f,%.17g\n", wall * 1e3, (cpu_seconds() - cpu) / wall, answer);
    }
    std::fflush(stdout);
  }
}
