// form: from_trades.average([](auto t) { return t.name; })
// message: query: average: these values are no numbers
// expect: query: average: these values are no numbers
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.average([](auto t) { return t.name; })); }
