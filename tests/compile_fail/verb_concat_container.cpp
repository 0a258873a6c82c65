// form: from_trades.concat(trades).count()
// message: query: concat: the other rows must be a query. Write query::from(rows)
// expect: query: concat: the other rows must be a query. Write query::from(rows)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.concat(trades).count()); }
