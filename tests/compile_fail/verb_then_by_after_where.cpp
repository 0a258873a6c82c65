// form: from_trades.order_by(symbol_of).where([](auto t) { return t.qty > 1; }).then_by_descending(symbol_of).to_vector()
// message: query: then_by_descending: there is no order to refine
// expect: query: then_by_descending: there is no order to refine
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by(symbol_of).where([](auto t) { return t.qty > 1; }).then_by_descending(symbol_of).to_vector()); }
