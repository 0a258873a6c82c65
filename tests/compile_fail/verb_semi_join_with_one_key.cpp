// form: from_trades.semi_join(from_stocks, symbol_of).count()
// message: query: semi_join: takes a key of either side, also where they are the same: semi_join(right, left key, right key)
// expect: query: semi_join: takes a key of either side, also where they are the same: semi_join(right, left key, right key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.semi_join(from_stocks, symbol_of).count()); }
