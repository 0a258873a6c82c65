// form: { return std::max(t.price, 0.0); }
// message: the compiler: no matching function. Write query::max(t.price, 0.0)
// expect: no matching function for call to
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return std::max(t.price, 0.0); });
}
