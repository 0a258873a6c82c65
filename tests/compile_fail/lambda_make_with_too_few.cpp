// form: query::make<Out>(t.price)
// message: query::make<Out>(...): give one value for each field of Out, in declaration order
// expect: query::make<Out>(...): give one value for each field of Out, in declaration order
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::make<Out>(t.price); });
}
