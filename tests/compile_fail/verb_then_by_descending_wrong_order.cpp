// form: from_trades.order_by([](auto t) { return t.qty; }).then_by_descending(symbol_of, [](int a) { return a > 1; }).to_vector()
// message: query: then_by_descending: the order must take two keys and give bool: then_by_descending(key, less)
// expect: query: then_by_descending: the order must take two keys and give bool: then_by_descending(key, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by([](auto t) { return t.qty; }).then_by_descending(symbol_of, [](int a) { return a > 1; }).to_vector()); }
