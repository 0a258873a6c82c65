// form: from_trades.size() > 3
// message: query: size: a query does not know how many rows it gives before it runs. Write count()
// expect: query: size: a query does not know how many rows it gives before it runs. Write count()
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.size() > 3); }
