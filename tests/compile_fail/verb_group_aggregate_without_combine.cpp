// form: from_trades.reduce([](auto g) { return g.aggregate(0, [](int s, auto t) { return s + t.qty; }); })
// message: query: aggregate: the third argument, combine, is missing. Parts of the rows are folded at the same time...
// expect: query: aggregate: the third argument, combine, is missing.
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.reduce([](auto g) { return g.aggregate(0, [](int s, auto t) { return s + t.qty; }); })); }
