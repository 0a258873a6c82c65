// form: from_trades.default_if_empty(3).count()
// message: query: default_if_empty: the value must be a row of this query
// expect: query: default_if_empty: the value must be a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.default_if_empty(3).count()); }
