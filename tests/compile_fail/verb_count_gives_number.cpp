// form: from_trades.count([](auto t) { return t.qty; })
// message: query: count: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect: query: count: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.count([](auto t) { return t.qty; })); }
