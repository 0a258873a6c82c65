// form: from_trades.zip(stocks).count()
// message: query: zip: the other rows must be a query
// expect: query: zip: the other rows must be a query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.zip(stocks).count()); }
