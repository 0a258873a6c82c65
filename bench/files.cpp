// Questions over a Parquet file, which is read anew for each.
//
//   files ROWS FOLDER          writes FOLDER/trades.parquet
//   files - FOLDER [NAMES]     answers the questions (all, group...; "": all) four times each; a JSON line a question
//
// bench/files/run does both, beside DuckDB, Polars and DataFusion, compares the answers and prints the ratios.
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <query/parquet.hpp>

#include "questions.hpp"

namespace {

struct trade {
  std::int64_t time = 0;
  std::string symbol;
  double price = 0;
  std::int32_t quantity = 0;
  std::int32_t venue = 0;
  std::string note;
};
QUERY_RECORD(trade, time, symbol, price, quantity, venue, note);

struct of_symbol {
  std::string symbol;
  double volume = 0;
  std::int64_t trades = 0;
};
QUERY_RECORD(of_symbol, symbol, volume, trades);
struct of_venue {
  std::int32_t venue = 0;
  std::int64_t quantity = 0;
};
QUERY_RECORD(of_venue, venue, quantity);
struct priced {
  std::int64_t time = 0;
  double price = 0;
};
QUERY_RECORD(priced, time, price);

// Rows in the order of their times, as logs have them.
void write(std::uint64_t rows, const std::string& path) {
  const auto trades = query::range(std::int64_t{0}, static_cast<std::int64_t>(rows)).select([](std::int64_t i) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u, random = mixed ^ mixed >> 29;
    return trade{i,
                 "S" + std::to_string(random % 1000),
                 static_cast<double>(random >> 20 & 0xFFFF) / 64,
                 static_cast<std::int32_t>(random >> 40 & 0xFF),
                 static_cast<std::int32_t>(random >> 50 & 31),
                 "a note that few queries read: " + std::to_string(random)};
  });
  query::write_parquet(trades, path);
}

std::vector<bench::question> questions(const std::string& path, std::int64_t rows) {
  const auto trades = query::read_parquet<trade>(path);
  const std::int64_t late = rows - rows / 20;
  const auto by_symbol = [](const auto& q) {
    return q.group_by([](auto t) { return t.symbol; }).select([](auto g) {
      return query::make<of_symbol>(g.key(), g.sum([](auto t) { return t.price * t.quantity; }), g.count());
    });
  };
  return {
      bench::make<1, 2>("group", by_symbol(trades)),
      bench::make<1, 2>("filter_group", by_symbol(trades.where([](auto t) { return t.price > 900.0 && t.venue < 8; }))),
      bench::make<1, 2>("recent_group", by_symbol(trades.where([late](auto t) { return t.time >= late; }))),
      bench::make<0, 1>("two_columns", trades.group_by([](auto t) { return t.venue; }).select([](auto g) {
        return query::make<of_venue>(g.key(), g.sum([](auto t) { return t.quantity; }));
      })),
      bench::make<0, 1>("filter", trades.where([](auto t) { return t.price > 1000.0; }).select([](auto t) {
        return query::make<priced>(t.time, t.price);
      })),
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: files ROWS FOLDER | files - FOLDER [NAMES]\n", stderr);
    return 2;
  }
  const std::string path = std::string(argv[2]) + "/trades.parquet";
  if (std::string_view(argv[1]) != "-") {
    write(std::strtoull(argv[1], nullptr, 10), path);
    return 0;
  }
  bench::answer(questions(path, query::read_parquet<trade>(path).count()), argc > 3 ? argv[3] : "");
}
