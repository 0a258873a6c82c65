// form: query::make<Out>(t.price, t.price)
// message: query::make<Out>(...): the value for field 'b' does not have its type; numbers convert, other types must match. A std::optional needs a field that is one, or value_or(x). Floating point becomes an integer by query::cast<T>(x)
// expect: query::make<Out>(...): the value for field 'b' does not have its type; numbers convert, other types must match. A std::optional needs a field that is one, or value_or(x). Floating point becomes an integer by query::cast<T>(x)
// expect-at-most: 1
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::make<Out>(t.price, t.price); });
}
