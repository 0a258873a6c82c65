// form: from_trades.order_by([](auto a, auto b) { return a.qty < b.qty; }).to_vector()
// message: query: order_by: takes a key of one row, as in [](auto t) { return t.price; }. An order of two rows goes to order(less)
// expect: query: order_by: takes a key of one row, as in [](auto t) { return t.price; }. An order of two rows goes to order(less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by([](auto a, auto b) { return a.qty < b.qty; }).to_vector()); }
