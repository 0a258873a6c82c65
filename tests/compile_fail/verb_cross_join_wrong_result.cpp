// form: from_trades.cross_join(from_stocks, [](auto t) { return t.price; }).count()
// message: query: cross_join: the result function must take (left row, right row)
// expect: query: cross_join: the result function must take (left row, right row)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.cross_join(from_stocks, [](auto t) { return t.price; }).count()); }
