// form: numbers.order([](int a) { return a > 1; }).to_vector()
// message: query: order: the order must take two keys and give bool: order(less)
// expect: query: order: the order must take two keys and give bool: order(less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.order([](int a) { return a > 1; }).to_vector()); }
