// form: from_trades.order_by(symbol_of, true).to_vector()
// message: query: order_by: the direction is said by the verb: order_by(key) or order_by_descending(key)
// expect: query: order_by: the direction is said by the verb: order_by(key) or order_by_descending(key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by(symbol_of, true).to_vector()); }
