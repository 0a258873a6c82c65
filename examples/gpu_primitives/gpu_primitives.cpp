// A vertex of one's own on the GPU: an apply whose kernels (frequent.cu) use the library's primitives.
#include <algorithm>
#include <iostream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
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
      // A table that is full is no error: a larger one is tried, with all rows. It ends, with words, where no table would do.
      query::on_gpu([](auto& rows) {
        const frequent_tables tables = frequent_tables_for(rows.size());
        void* const temporary = rows.scratch(frequent_memory_for(rows.size(), tables.first).temporary);
        for (std::uint32_t bits = tables.first;; bits = std::min(bits + 2, tables.last)) {
          frequent_found found;
          keep_frequent(rows.rows(), rows.size(), least, bits, rows.scratch(frequent_memory_for(rows.size(), bits).table), temporary,
                        rows.results(rows.size()), &found, rows.stream());
          rows.wait();
          if (!found.full) return rows.keep(found.kept);
          if (bits == tables.last)
            throw std::runtime_error("frequent: the symbols find no place in a table of 2^" + std::to_string(bits) +
                                     " slots: their hashes are too much alike, and a table of another hash is needed");
          std::cout << "a table of 2^" << bits << " slots is full\n";
        }
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
