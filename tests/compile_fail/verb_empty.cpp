// form: from_trades.empty() ? 1 : 2
// message: query: empty: a query does not know whether it gives rows before it runs. Write !q.any()
// expect: query: empty: a query does not know whether it gives rows before it runs. Write !q.any()
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.empty() ? 1 : 2); }
