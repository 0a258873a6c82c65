// form: from_trades.distinct(symbol_of).count()
// message: query: distinct: the last function takes one row, and here only an equality of two keys and its hash may stand
// expect: query: distinct: the last function takes one row, and here only an equality of two keys and its hash may stand
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.distinct(symbol_of).count()); }
