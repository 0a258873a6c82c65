// form: from_trades.join(from_stocks, symbol_of, [](const Trade& t) { return t.symbol; }).count()
// message: query: join: the right key function cannot be called with a row of the other query
// expect: query: join: the right key function cannot be called with a row of the other query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, symbol_of, [](const Trade& t) { return t.symbol; }).count()); }
