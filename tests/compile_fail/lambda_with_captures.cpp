// form: query::with([k](auto t) { return t.price > k; })
// message: query::with(f, captures...): f must capture nothing itself; pass what it needs after it and take it as parameters: with([](auto t, double k) {...}, k)
// expect: query::with(f, captures...): f must capture nothing itself
#include "lambda_rows.hpp"

void f() {
  take<Trade>(query::with([k = 2.0](auto t) { return t.price > k; }));
}
