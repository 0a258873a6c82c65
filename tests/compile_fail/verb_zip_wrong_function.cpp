// form: from_trades.zip(from_stocks, [](auto t) { return t.price; }).count()
// message: query: zip: the result function must take (this query's row, the other's row)
// expect: query: zip: the result function must take (this query's row, the other's row)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.zip(from_stocks, [](auto t) { return t.price; }).count()); }
