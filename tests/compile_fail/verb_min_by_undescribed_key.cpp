// form: from_trades.min_by([](const Trade& t) { return Plain{t.qty}; })
// message: query: min_by: these values have no <
// expect: query: min_by: these values have no <
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.min_by([](const Trade& t) { return Plain{t.qty}; })); }
