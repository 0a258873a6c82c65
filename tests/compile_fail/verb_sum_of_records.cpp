// form: from_trades.sum()
// message: query: sum: these values are no numbers. Say which number of the row is meant: sum([](auto t) { return t.price; })
// expect: query: sum: these values are no numbers. Say which number of the row is meant: sum([](auto t) { return t.price; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.sum()); }
