// form: query::iff(t.qty > 1, t.pos, 0)
// message: query::iff(c, a, b): a and b have no common type; convert one of them with query::cast<T>(x)
// expect: query::iff(c, a, b): a and b have no common type
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::iff(t.qty > 1, t.pos, 0); });
}
