// form: from_trades.single(3)
// message: query: single: the function cannot be called with a row of this query
// expect: query: single: the function cannot be called with a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.single(3)); }
