// form: from_plains.order_by_descending([](const Plain& p) { return p; })
// message: , or give an order: order_by_descending(key, less)
// expect: , or give an order: order_by_descending(key, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.order_by_descending([](const Plain& p) { return p; })); }
