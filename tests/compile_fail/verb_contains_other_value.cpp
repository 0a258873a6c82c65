// form: from_trades.contains("x")
// message: query: contains: the value must be a row of this query (or convert to one). For a part of the row use any(predicate)
// expect: query: contains: the value must be a row of this query (or convert to one). For a part of the row use any(predicate)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.contains("x")); }
