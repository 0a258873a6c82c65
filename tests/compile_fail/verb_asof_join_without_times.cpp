// form: from_trades.asof_join(from_stocks, symbol_of)
// message: query: asof_join: takes the time of either side
// expect: query: asof_join: takes the time of either side
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.asof_join(from_stocks, symbol_of).count()); }
