// form: from_trades.any([](auto t) { return t.name; })
// message: query: any: the predicate must give bool
// expect: query: any: the predicate must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.any([](auto t) { return t.name; })); }
