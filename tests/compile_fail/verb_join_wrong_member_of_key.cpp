// form: from_trades.join(from_stocks, &Trade::symbol, symbol_of).count()
// message: query: join: the left key function cannot be called with a row of this query, or gives nothing. The arguments are join(right, left key, right key, ...)
// expect: query: join: the left key function cannot be called with a row of this query, or gives nothing. The arguments are join(right, left key, right key, ...)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, &Trade::symbol, symbol_of).count()); }
