// form: from_trades.select().to_vector()
// message: query: select: the function is missing: select([](auto t) { return t.price; })
// expect: query: select: the function is missing: select([](auto t) { return t.price; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select().to_vector()); }
