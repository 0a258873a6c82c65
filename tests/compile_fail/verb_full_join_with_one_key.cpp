// form: from_trades.full_join(from_stocks, symbol_of).count()
// message: query: full_join: takes a key of either side, also where they are the same: full_join(right, left key, right key)
// expect: query: full_join: takes a key of either side, also where they are the same: full_join(right, left key, right key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.full_join(from_stocks, symbol_of).count()); }
