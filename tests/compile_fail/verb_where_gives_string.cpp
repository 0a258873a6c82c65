// form: from_trades.where([](auto t) { return t.name; }).count()
// message: query: where: the predicate must give bool. Compare, as in `t.qty > 100`
// expect: query: where: the predicate must give bool. Compare, as in `t.qty > 100`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([](auto t) { return t.name; }).count()); }
