// form: from_trades.top(symbol_of, 10).to_vector()
// message: query: top: takes a whole number of rows and then the key: top(10, key)
// expect: query: top: takes a whole number of rows and then the key: top(10, key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.top(symbol_of, 10).to_vector()); }
