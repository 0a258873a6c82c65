// form: from_trades.join(from_stocks, symbol_of).count()
// message: query: join: takes a key of either side, also where they are the same: join(right, left key, right key)
// expect: query: join: takes a key of either side, also where they are the same: join(right, left key, right key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, symbol_of).count()); }
