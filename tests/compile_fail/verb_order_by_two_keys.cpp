// form: from_trades.order_by(symbol_of, [](auto t) { return t.price; }).to_vector()
// message: query: order_by: the last function takes one row, and here only an order of two keys may stand: order_by(key, less). Several fields are one key
// expect: query: order_by: the last function takes one row, and here only an order of two keys may stand: order_by(key, less). Several fields are one key
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by(symbol_of, [](auto t) { return t.price; }).to_vector()); }
