// form: from_trades.prepend(3).count()
// message: query: prepend: the value must be a row of this query
// expect: query: prepend: the value must be a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.prepend(3).count()); }
