// form: query::make<Out>(t.price)
// message: query::make<Out>(...): give one value for each field, in this order: a, b
// expect: query::make<Out>(...): give one value for each field, in this order: a, b
// expect-at-most: 1
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::make<Out>(t.price); });
}
