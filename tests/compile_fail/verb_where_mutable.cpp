// form: from_trades.where([n = 0](auto) mutable { return ++n < 3; }).count()
// message: query: where: the function is `mutable`
// expect: query: where: the function is `mutable`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([n = 0](auto) mutable { return ++n < 3; }).count()); }
