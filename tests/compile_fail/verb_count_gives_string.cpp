// form: from_trades.count([](auto t) { return t.name; })
// message: query: count: the predicate must give bool
// expect: query: count: the predicate must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.count([](auto t) { return t.name; })); }
