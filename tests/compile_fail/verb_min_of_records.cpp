// form: from_trades.min()
// message: query: min: these values have no <
// expect: query: min: these values have no <
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.min()); }
