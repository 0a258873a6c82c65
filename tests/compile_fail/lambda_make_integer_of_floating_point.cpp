// form: query::make<Out>(t.price, t.price)
// message: query::make<Out>(...): the value for field 'b' may have a fraction, the field is an integer: query::cast<int>(x)
// expect: query::make<Out>(...): the value for field 'b' may have a fraction, the field is an integer: query::cast<int>(x)
// expect-at-most: 1
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::make<Out>(t.price, t.price); });
}
