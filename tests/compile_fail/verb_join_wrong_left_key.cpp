// form: from_trades.join(from_stocks, [](const Stock& s) { return s.symbol; }, symbol_of).count()
// message: query: join: the left key function cannot be called with a row of this query
// expect: query: join: the left key function cannot be called with a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, [](const Stock& s) { return s.symbol; }, symbol_of).count()); }
