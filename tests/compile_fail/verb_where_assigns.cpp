// form: from_trades.where([](auto t) { return t.qty = 3; }).count()
// message: query: where: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect: query: where: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect-at-most: 2
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([](auto t) { return t.qty = 3; }).count()); }
