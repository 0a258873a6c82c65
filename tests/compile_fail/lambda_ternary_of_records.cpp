// form: { return t.qty > 3 ? t.pos : Vec3{}; }
// message: the compiler: operands to ?: have different types. Write query::iff(t.qty > 3, t.pos, Vec3{})
// expect-gcc: have different types
// expect-clang: incompatible operand types
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return t.qty > 3 ? t.pos : Vec3{}; });
}
