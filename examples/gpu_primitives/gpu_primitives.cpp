// A vertex of one's own on the GPU: an apply whose kernels (frequent.cu) use the library's primitives.
#include <iostream>
#include <map>
#include <span>
#include <vector>

#include <query/query.hpp>

#include "../same_rows.hpp"
#include "frequent.hpp"

QUERY_RECORD(Trade, symbol, price);

constexpr std::uint64_t least = 1000;

int main() {
  std::vector<Trade> trades;
  for (int i = 0; i < 400'000; ++i) trades.push_back({i % 3 ? i % 7 - 3 : i, i * 0.5});

  const auto frequent = query::from(trades).as_accelerated().apply_all(
      [](std::span<const Trade> rows) {
        std::map<std::int32_t, std::uint64_t> counts;
        for (const Trade& t : rows) ++counts[t.symbol];
        std::vector<Trade> kept;
        for (const Trade& t : rows)
          if (counts[t.symbol] >= least) kept.push_back(t);
        return kept;
      },
      query::on_gpu([](auto& rows) {
        const frequent_memory bytes = frequent_memory_for(rows.size());
        std::uint64_t kept = 0;
        keep_frequent(rows.rows(), rows.size(), least, rows.scratch(bytes.table), rows.scratch(bytes.temporary), rows.results(rows.size()),
                      &kept, rows.stream());
        rows.wait();
        rows.keep(kept);
      }));
  std::cout << frequent.explain();
  const auto sums = [](auto g) { return std::make_tuple(g.key(), g.count(), g.sum([](auto t) { return t.price; })); };
  const auto by_symbol = [&](auto q) {
    return q.group_by([](auto t) { return t.symbol; }).select(sums).order_by([](auto t) { return std::get<0>(t); }).to_vector();
  };
  const auto there = by_symbol(frequent), here = by_symbol(frequent.on(query::engine::cpu));
  for (const auto& [symbol, n, price] : there) std::cout << symbol << ": " << n << " trades, " << price << "\n";
  const bool left = query::Session::standard().gpu_status().empty() && steps_on_gpu(frequent.explain()) == 0;
  return there == here && !left ? 0 : 1;
}
