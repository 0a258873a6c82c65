// form: { return t.side == 1; }
// message: the compiler: no match for operator== natively; query: these two types cannot be compared
// expect-gcc: no match for
// expect-clang: invalid operands to binary expression
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return t.side == 1; });
}
