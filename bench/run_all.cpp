// Three groupings of what one query gives: together (query::run_all), and one after the other.
//
//   run_all 10000000        # rows in memory; a tenth of them in the file
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <query/query.hpp>
#include <query/run_all.hpp>

#include "timing.hpp"

namespace run_all {

struct Trade {
  std::int32_t symbol, day;
  double price;
  std::int64_t qty;
};
QUERY_RECORD(Trade, symbol, day, price, qty);
struct Share {
  std::int32_t symbol;
  double shares;
};
QUERY_RECORD(Share, symbol, shares);
struct Total {
  std::int32_t key;
  double amount;
  std::int64_t trades;
};
QUERY_RECORD(Total, key, amount, trades);

std::vector<Trade> trades(std::size_t n) {
  std::vector<Trade> all(n);
  std::uint64_t x = 7;
  for (Trade& t : all) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    t = {static_cast<std::int32_t>(x >> 33) % 1000, static_cast<std::int32_t>(x >> 40) % 365, static_cast<double>(x >> 50),
         static_cast<std::int64_t>(x >> 55)};
  }
  return all;
}

const auto total = [](auto g) { return query::make<Total>(g.key(), g.sum([](auto t) { return t.price; }), g.count()); };

template <class Q> auto three_of(const Q& q) {
  return std::tuple(q.group_by([](auto t) { return t.symbol; }).select(total), q.group_by([](auto t) { return t.day; }).select(total),
                    q.group_by([](auto t) { return t.symbol % 10; }).select(total));
}
double answer(const std::vector<Total>& a, const std::vector<Total>& b, const std::vector<Total>& c) {
  std::int64_t n = 0;
  for (const auto* all : {&a, &b, &c})
    for (const Total& t : *all) n += t.trades * (t.key + 1);
  return static_cast<double>(n);
}
template <class Q> void compare(const std::string& title, const Q& q, int rounds) {
  const auto [a, b, c] = three_of(q);
  bench::race r(title);
  r.add("one after the other", [a = a, b = b, c = c] { return answer(a.to_vector(), b.to_vector(), c.to_vector()); });
  r.add("run_all", [a = a, b = b, c = c] {
    const auto [x, y, z] = query::run_all(a, b, c);
    return answer(x, y, z);
  });
  r.run(rounds);
}

}  // namespace run_all

int main(int argc, char** argv) {
  using namespace run_all;
  const std::size_t n = argc > 1 ? static_cast<std::size_t>(std::atoll(argv[1])) : 10'000'000;
  const std::vector<Trade> rows = trades(n);
  const auto q = query::from(rows);
  compare("a traced filter of rows in memory", q.where([](auto t) { return t.qty > 100; }), 9);
  compare("an opaque filter that takes long", q.where([](const Trade& t) { return std::sin(t.price) + std::cos(t.price * 3) > 0; }), 9);
  std::vector<Share> shares(1000);
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = {static_cast<std::int32_t>(i), 1.5 * static_cast<double>(i)};
  compare("a join",
          q.join(query::from(shares), [](auto t) { return t.symbol; }, [](auto s) { return s.symbol; },
                 [](auto t, auto s) { return query::make<Trade>(t.symbol, t.day, t.price * s.shares, t.qty); }), 9);
  const std::string path = (std::filesystem::temp_directory_path() / "query_bench_run_all.csv").string();
  query::from(rows).take(n / 10).write_csv(path);
  compare("a CSV file of a tenth of the rows", query::read_csv<Trade>(path), 9);
  std::filesystem::remove(path);
}
