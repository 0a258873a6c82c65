// Measures the cost of counting what a run does (src/runtime/run_profile.hpp): queries with and without, in turn, and the median of
// the ratios of their times.
//
//   profile_cost          # rounds of each pair: 101, of long queries 15
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <query/profile.hpp>
#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace profile_cost {

struct Trade {
  std::int64_t symbol;
  double price;
};
QUERY_RECORD(Trade, symbol, price);
struct Name {
  std::int64_t symbol;
  std::int64_t country;
};
QUERY_RECORD(Name, symbol, country);
struct Total {
  std::int64_t symbol;
  double sum;
};
QUERY_RECORD(Total, symbol, sum);

struct question {
  std::string name;
  std::function<void()> run;
  int times;   // in a measurement
  int rounds;
};

double seconds_of(const question& q, query::Session& s, bool counts) {
  s.state()->history.keeps_profiles = counts;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < q.times; ++i) q.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / q.times;
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void compare(const question& q, query::Session& s) {
  seconds_of(q, s, true), seconds_of(q, s, false);
  std::vector<double> ratios, without;
  for (int i = 0; i < q.rounds; ++i) {
    // In turn the first of the two.
    double times[2];
    for (const int k : {i % 2, 1 - i % 2}) times[k] = seconds_of(q, s, k == 1);
    ratios.push_back(times[1] / times[0]);
    without.push_back(times[0]);
  }
  std::printf("%-28s %12.2f us  %+6.2f %%\n", q.name.c_str(), median(without) * 1e6, (median(ratios) - 1) * 100);
}

std::vector<Trade> trades(std::size_t n, std::int64_t symbols) {
  std::vector<Trade> all;
  std::uint64_t x = 1;
  for (std::size_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    all.push_back({static_cast<std::int64_t>((x >> 33) % static_cast<std::uint64_t>(symbols)), static_cast<double>(x >> 40)});
  }
  return all;
}
std::vector<Name> names(std::int64_t n) {
  std::vector<Name> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back({i, i % 7});
  return all;
}

void ask(std::size_t rows, query::Session& s) {
  const auto all = trades(rows, rows > 1000 ? 10'000 : 5);
  const auto of = names(rows > 1000 ? 10'000 : 5);
  const int times = rows <= 1000 ? 500 : 1, rounds = rows <= 1000 ? 101 : 15;
  const std::string n = std::to_string(rows) + " rows: ";
  const auto q = [&] { return query::from(all).in(s); };
  const auto symbol = [](auto t) { return t.symbol; };
  compare({n + "filtered sum", [&] {
             (void)q().where([](auto t) { return t.price > 100; }).sum([](auto t) { return t.price; });
           }, times, rounds}, s);
  compare({n + "group_by", [&] {
             (void)q().group_by(symbol).select([](auto g) {
               return query::make<Total>(g.key(), g.sum([](auto t) { return t.price; }));
             }).to_vector();
           }, times, rounds}, s);
  compare({n + "order_by", [&] { (void)q().order_by([](auto t) { return t.price; }).to_vector(); }, times, rounds}, s);
  compare({n + "join", [&] {
             (void)q().join(query::from(of).in(s), symbol, [](auto m) { return m.symbol; }, [](auto t, auto m) {
               return query::make<Name>(t.symbol, m.country);
             }).count();
           }, times, rounds}, s);
}

}  // namespace profile_cost

int main() {
  query::Session s;
  std::printf("%-28s %15s  %8s\n", "", "uncounted", "cost");
  for (const std::size_t rows : {std::size_t{10}, std::size_t{1000}, std::size_t{10'000'000}}) profile_cost::ask(rows, s);
}
