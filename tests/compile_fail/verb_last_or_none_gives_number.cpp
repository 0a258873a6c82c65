// form: from_trades.last_or_none([](auto t) { return t.qty; }).has_value()
// message: query: last_or_none: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect: query: last_or_none: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.last_or_none([](auto t) { return t.qty; }).has_value()); }
