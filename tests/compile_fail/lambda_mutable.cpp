// form: [n = 0](auto t) mutable { ++n; return t.price; }
// message: query: this function is `mutable` or its operator() is not const: functions are called through const, from many threads...
// expect: query: this function is `mutable`
#include "lambda_rows.hpp"

void f() {
  take<Trade>([n = 0](auto t) mutable { ++n; return t.price; });
}
