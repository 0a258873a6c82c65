// form: { t.id = 3; return t.id; } over a row with strings
// message: the compiler: assignment to a read-only member: rows with strings come as views. Take `Order t` by value, or copy the field: auto id = t.id
// expect-gcc: assignment of read-only
// expect-clang: cannot assign to
#include "lambda_rows.hpp"

void f() {
  take<Order>([](auto t) { t.id = 3; return t.id; });
  (void)sizeof(query::result_t<decltype([](auto t) { t.id = 3; return t.id; }), Order>);
}
