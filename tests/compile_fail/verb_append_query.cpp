// form: from_trades.append(from_trades).count()
// message: query: append: the value must be a row of this query
// expect: query: append: the value must be a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.append(from_trades).count()); }
