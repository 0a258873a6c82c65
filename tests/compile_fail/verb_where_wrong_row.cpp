// form: from_trades.where([](const Stock& s) { return s.symbol > 1; }).to_vector()
// message: query: where: the function cannot be called with a row of this query
// expect: query: where: the function cannot be called with a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([](const Stock& s) { return s.symbol > 1; }).to_vector()); }
