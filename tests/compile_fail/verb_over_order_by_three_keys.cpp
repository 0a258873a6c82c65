// form: from_trades.over().order_by(symbol_of, [](auto t) { return t.qty; }, symbol_of).take(1).count()
// message: query: order_by: takes the key, then an order of keys and where nulls go, each if it is wanted
// expect: query: order_by: takes the key, then an order of keys and where nulls go, each if it is wanted
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over().order_by(symbol_of, [](auto t) { return t.qty; }, symbol_of).take(1).count()); }
