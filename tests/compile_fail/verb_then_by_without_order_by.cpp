// form: from_trades.then_by(symbol_of).to_vector()
// message: query: then_by: there is no order to refine. Write order_by(key).then_by(key), next to each other
// expect: query: then_by: there is no order to refine. Write order_by(key).then_by(key), next to each other
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.then_by(symbol_of).to_vector()); }
