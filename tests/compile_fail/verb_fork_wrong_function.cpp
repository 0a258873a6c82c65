// form: from_trades.fork([](const Trade& t) { return t.qty; })
// message: query: fork: each function must take a query
// expect: query: fork: each function must take a query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.fork([](const Trade& t) { return t.qty; })); }
