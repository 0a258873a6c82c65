// form: from_trades.append(Stock{1, "x"}).count()
// message: query: append: the value must be a row of this query (or convert to one). For more rows there is concat(rows)
// expect: query: append: the value must be a row of this query (or convert to one). For more rows there is concat(rows)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.append(Stock{1, "x"}).count()); }
