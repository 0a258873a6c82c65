// form: query::with([](auto t, const double& least) { return t.price > least; }, std::cref(limit))
// message: query::with(f, captures...): captures a pointer or a reference, which cannot be shipped: pass the value, or query::broadcast(rows)
// expect: query::with(f, captures...): captures a pointer or a reference, which cannot be shipped: pass the value, or query::broadcast(rows)
// expect-at-most: 1
#include <functional>

#include "lambda_rows.hpp"

void f() {
  const double limit = 2;
  take<Trade>(query::with([](auto t, const double& least) { return t.price > least; }, std::cref(limit)));
}
