// form: from_trades.order_by(symbol_of)[3]
// message: query: operator[]: a query has no rows before it runs. Write element_at(i)
// expect: query: operator[]: a query has no rows before it runs. Write element_at(i)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by(symbol_of)[3]); }
