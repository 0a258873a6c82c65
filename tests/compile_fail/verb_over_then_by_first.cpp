// form: from_trades.over(symbol_of).then_by(symbol_of).take(1).count()
// message: query: over: then_by refines an order: over(key).order_by(a).then_by(b)
// expect: query: over: then_by refines an order: over(key).order_by(a).then_by(b)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).then_by(symbol_of).take(1).count()); }
