// form: from_trades.map([](auto t) { return t.qty; }).sum()
// message: query: map: is called select: select([](auto t) { return t.price; })
// expect: query: map: is called select: select([](auto t) { return t.price; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.map([](auto t) { return t.qty; }).sum()); }
