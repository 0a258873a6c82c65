// form: { return t.prize; }
// message: the compiler: no member named 'prize'
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return t.prize; });
}
