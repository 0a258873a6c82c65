// form: from_trades.group_join(from_stocks, symbol_of).count()
// message: query: group_join: takes a key of either side, also where they are the same: group_join(right, left key, right key, result)
// expect: query: group_join: takes a key of either side, also where they are the same: group_join(right, left key, right key, result)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_join(from_stocks, symbol_of).count()); }
