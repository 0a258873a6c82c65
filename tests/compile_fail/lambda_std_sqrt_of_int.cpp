// form: { return std::sqrt(t.qty); } with an int field
// message: the compiler: call of overloaded sqrt is ambiguous. Write query::sqrt(t.qty)
// expect-gcc: is ambiguous
// expect-clang: is ambiguous
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return std::sqrt(t.qty); });
}
