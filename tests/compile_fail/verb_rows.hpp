// Rows of the verbs that must not compile.
#pragma once

#include <list>
#include <string>
#include <vector>

#include <query/query.hpp>

struct Trade {
  int symbol;
  double price;
  int qty;
  std::string name;
};
QUERY_RECORD(Trade, symbol, price, qty, name);
struct Stock {
  int symbol;
  std::string sector;
};
QUERY_RECORD(Stock, symbol, sector);
// Neither QUERY_RECORD nor any operator.
struct Plain {
  int x;
};

inline const std::vector<Trade> trades;
inline const std::vector<Stock> stocks;
inline const std::vector<Plain> plains;
inline const auto from_trades = query::from(trades);
inline const auto from_stocks = query::from(stocks);
inline const auto from_plains = query::from(plains);
inline const auto numbers = query::range(0, 10);
inline const auto symbol_of = [](auto t) { return t.symbol; };
inline const auto itself = [](auto t) { return t; };
