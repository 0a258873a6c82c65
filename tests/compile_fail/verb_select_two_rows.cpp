// form: from_trades.select([](auto a, auto b) { return a.qty + b.qty; }).sum()
// message: query: select: the function cannot be called with a row of this query
// expect: query: select: the function cannot be called with a row of this query
// expect-at-most: 2
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](auto a, auto b) { return a.qty + b.qty; }).sum()); }
