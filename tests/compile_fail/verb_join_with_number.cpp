// form: from_trades.join(3, symbol_of, symbol_of).count()
// message: query: join: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect: query: join: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(3, symbol_of, symbol_of).count()); }
