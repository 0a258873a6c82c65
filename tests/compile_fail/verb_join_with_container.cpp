// form: from_trades.join(stocks, symbol_of, symbol_of).count()
// message: query: join: the other rows must be a query. Write query::from(rows)
// expect: query: join: the other rows must be a query. Write query::from(rows)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(stocks, symbol_of, symbol_of).count()); }
