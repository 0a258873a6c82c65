// form: from_trades.semi_join(from_stocks, [](auto t) { return t.name; }, symbol_of).count()
// message: query: semi_join: the two key functions give different types
// expect: query: semi_join: the two key functions give different types
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.semi_join(from_stocks, [](auto t) { return t.name; }, symbol_of).count()); }
