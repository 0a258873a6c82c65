// form: from_trades.over(symbol_of).select([](auto t) { return t.qty; }).count()
// message: query: over: the function takes a row and its window: over(key).select(
// expect: query: over: the function takes a row and its window: over(key).select(
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto t) { return t.qty; }).count()); }
