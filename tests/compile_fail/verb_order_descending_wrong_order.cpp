// form: numbers.order_descending([](int a) { return a > 1; }).to_vector()
// message: query: order_descending: the order must take two keys and give bool: order_descending(less)
// expect: query: order_descending: the order must take two keys and give bool: order_descending(less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.order_descending([](int a) { return a > 1; }).to_vector()); }
