// form: query::make<Out>(t.price, t.pos)
// message: query::make<Out>(...): the value for field 'b' does not have its type; numbers convert, other types must match
// expect: query::make<Out>(...): the value for field 'b' does not have its type; numbers convert, other types must match
// expect-at-most: 1
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::make<Out>(t.price, t.pos); });
}
