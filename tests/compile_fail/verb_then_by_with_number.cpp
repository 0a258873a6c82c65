// form: from_trades.order_by(symbol_of).then_by(symbol_of, 3)
// message: query: then_by: takes the key, then an order of keys and where nulls go, each if it is wanted
// expect: query: then_by: takes the key, then an order of keys and where nulls go, each if it is wanted
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by(symbol_of).then_by(symbol_of, 3)); }
