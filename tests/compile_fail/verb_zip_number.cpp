// form: from_trades.zip(3).count()
// message: query: zip: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect: query: zip: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.zip(3).count()); }
