// form: from_trades.as_type<double>().sum()
// message: query: as_type: converts numbers and enums into each other
// expect: query: as_type: converts numbers and enums into each other
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.as_type<double>().sum()); }
