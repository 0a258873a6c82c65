// form: from_trades.anti_join(from_stocks, symbol_of).count()
// message: query: anti_join: takes a key of either side, also where they are the same: anti_join(right, left key, right key)
// expect: query: anti_join: takes a key of either side, also where they are the same: anti_join(right, left key, right key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.anti_join(from_stocks, symbol_of).count()); }
