// form: from_trades.sum([](auto t) { return t.name; })
// message: query: sum: these values are no numbers
// expect: query: sum: these values are no numbers
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.sum([](auto t) { return t.name; })); }
