// form: from_trades.left_join(from_stocks, symbol_of).count()
// message: query: left_join: takes a key of either side, also where they are the same: left_join(right, left key, right key)
// expect: query: left_join: takes a key of either side, also where they are the same: left_join(right, left key, right key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.left_join(from_stocks, symbol_of).count()); }
