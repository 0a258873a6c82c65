// form: from_trades.all([](const Stock&) { return true; })
// message: query: all: the function cannot be called with a row of this query
// expect: query: all: the function cannot be called with a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.all([](const Stock&) { return true; })); }
