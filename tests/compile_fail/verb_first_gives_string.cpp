// form: from_trades.first([](auto t) { return t.name; })
// message: query: first: the predicate must give bool
// expect: query: first: the predicate must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.first([](auto t) { return t.name; })); }
