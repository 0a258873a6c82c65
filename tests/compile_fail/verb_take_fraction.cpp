// form: from_trades.take(0.5).count()
// message: query: take: takes a whole number of rows, from 0
// expect: query: take: takes a whole number of rows, from 0
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.take(0.5).count()); }
