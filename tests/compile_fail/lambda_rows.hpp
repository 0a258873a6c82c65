// Rows of the lambdas that must not compile.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include <query/broadcast.hpp>
#include <query/function.hpp>
#include <query/functions.hpp>

enum class Side { buy, sell };
struct Vec3 {
  float x, y, z;
};
QUERY_RECORD(Vec3, x, y, z);
struct Trade {
  int symbol;
  double price;
  int qty;
  Side side;
  std::array<float, 8> x;
  Vec3 pos;
};
QUERY_RECORD(Trade, symbol, price, qty, side, x, pos);
struct Order {
  int id;
  std::string name;
};
QUERY_RECORD(Order, id, name);
struct Out {
  double a;
  int b;
};
QUERY_RECORD(Out, a, b);

// What a verb does with a function.
template <class Row, class F> void take(const F& f) {
  query::check_callable<F, Row>();
  query::trace<Row>(f);
}
