// form: from_trades.any([](auto t) { return t.qty; })
// message: query: any: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect: query: any: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.any([](auto t) { return t.qty; })); }
