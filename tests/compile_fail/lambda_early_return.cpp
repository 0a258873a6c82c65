// form: { if (t.qty > 5) return t.price; return 0.0; }
// message: the compiler: inconsistent types deduced for the return type. Write `-> query::value_t<double, decltype(t)>`, or query::iff(c, a, b)
// expect-gcc: inconsistent types
// expect-clang: deduced as 'double' here but deduced as
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { if (t.qty > 5) return t.price; return 0.0; });
}
