// form: from_trades.order_by([](const Trade& t) { return Plain{t.qty}; }).to_vector()
// message: query: order_by: this key type has no order that the library knows
// expect: query: order_by: this key type has no order that the library knows
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by([](const Trade& t) { return Plain{t.qty}; }).to_vector()); }
