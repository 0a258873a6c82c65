// form: from_plains.order()
// message: , or give an order: order(less)
// expect: , or give an order: order(less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.order()); }
