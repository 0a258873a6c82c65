// form: from_trades.right_join(from_stocks, symbol_of).count()
// message: query: right_join: takes a key of either side, also where they are the same: right_join(right, left key, right key)
// expect: query: right_join: takes a key of either side, also where they are the same: right_join(right, left key, right key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.right_join(from_stocks, symbol_of).count()); }
