// form: from_trades.join(from_stocks, [](auto t) { return std::tuple(t.symbol, t.qty); }, symbol_of)
// message: query: join: the two key functions give different types
// expect: query: join: the two key functions give different types
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, [](auto t) { return std::tuple(t.symbol, t.qty); }, symbol_of)); }
