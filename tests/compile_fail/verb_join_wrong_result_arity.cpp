// form: from_trades.join(from_stocks, symbol_of, symbol_of, [](auto t) { return t.price; }).sum()
// message: query: join: the result function must take (left row, right row)
// expect: query: join: the result function must take (left row, right row)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, symbol_of, symbol_of, [](auto t) { return t.price; }).sum()); }
