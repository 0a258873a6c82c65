// form: { (t.price + 1) = 5; return t.price; }
// message: the compiler: natively an lvalue is required, traced as well
// expect-gcc: lvalue required
// expect-clang: expression is not assignable
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { (t.price + 1) = 5; return t.price; });
}
