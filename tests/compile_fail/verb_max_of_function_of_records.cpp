// form: from_trades.max([](const auto& t) { return Plain{t.qty}; })
// message: query: max: these values have no <
// expect: query: max: these values have no <
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.max([](const auto& t) { return Plain{t.qty}; })); }
