// form: from_trades.sort([](auto t) { return t.qty; }).to_vector()
// message: query: sort: is called order_by: order_by([](auto t) { return t.price; }); of values: order()
// expect: query: sort: is called order_by: order_by([](auto t) { return t.price; }); of values: order()
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.sort([](auto t) { return t.qty; }).to_vector()); }
