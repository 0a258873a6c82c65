// form: from_trades.concat(3).count()
// message: query: concat: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect: query: concat: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.concat(3).count()); }
