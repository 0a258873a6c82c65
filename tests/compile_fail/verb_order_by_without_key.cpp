// form: from_trades.order_by().to_vector()
// message: query: order_by: the key is missing: order_by([](auto t) { return t.price; }). Rows that are their own keys: order()
// expect: query: order_by: the key is missing: order_by([](auto t) { return t.price; }). Rows that are their own keys: order()
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by().to_vector()); }
