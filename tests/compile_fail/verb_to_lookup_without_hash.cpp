// form: from_trades.to_lookup(symbol_of, [](int a, int b) { return a == b; })
// message: query: to_lookup: an equality of your own needs a hash that agrees with it, the same for equal keys: to_lookup(key, equal, hash)
// expect: query: to_lookup: an equality of your own needs a hash that agrees with it, the same for equal keys: to_lookup(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_lookup(symbol_of, [](int a, int b) { return a == b; })); }
