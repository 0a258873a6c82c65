// form: from_trades.agg([](auto g) { return g.count(); })
// message: query: agg: is called aggregate
// expect: query: agg: is called aggregate
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.agg([](auto g) { return g.count(); })); }
