// form: query::make<Out>(t.pos, t.qty)
// message: query::make<Out>(...): a value does not have the type of its field; numbers convert, other types must match
// expect: query::make<Out>(...): a value does not have the type of its field
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::make<Out>(t.pos, t.qty); });
}
