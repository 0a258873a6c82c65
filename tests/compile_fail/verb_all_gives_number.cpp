// form: from_trades.all([](auto t) { return t.qty; })
// message: query: all: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect: query: all: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.all([](auto t) { return t.qty; })); }
