// form: from_trades.take_while([](auto t) { return t.name; }).count()
// message: query: take_while: the predicate must give bool
// expect: query: take_while: the predicate must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.take_while([](auto t) { return t.name; }).count()); }
