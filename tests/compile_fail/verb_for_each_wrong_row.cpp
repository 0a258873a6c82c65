// form: from_trades.for_each([](const Stock&) {})
// message: query: for_each: the function cannot be called with a row of this query
// expect: query: for_each: the function cannot be called with a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.for_each([](const Stock&) {})); }
