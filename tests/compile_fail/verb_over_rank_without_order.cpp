// form: from_trades.over(symbol_of).select([](auto, auto w) { return w.rank(); }).count()
// message: query: over: ranks and ranges need an order: over(key).order_by(
// expect: query: over: ranks and ranges need an order: over(key).order_by(
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto, auto w) { return w.rank(); }).count()); }
