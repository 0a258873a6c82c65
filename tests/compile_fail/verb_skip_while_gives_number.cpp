// form: from_trades.skip_while([](auto t) { return t.qty; }).count()
// message: query: skip_while: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect: query: skip_while: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.skip_while([](auto t) { return t.qty; }).count()); }
