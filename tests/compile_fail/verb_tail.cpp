// form: from_trades.tail(3)
// message: query: tail: is called take_last: take_last(10)
// expect: query: tail: is called take_last: take_last(10)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.tail(3)); }
