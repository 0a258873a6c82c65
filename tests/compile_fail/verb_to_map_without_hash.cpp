// form: from_trades.to_map(symbol_of, [](int a, int b) { return a == b; })
// message: query: to_map: an equality of your own needs a hash that agrees with it, the same for equal keys: to_map(key, value, equal, hash)
// expect: query: to_map: an equality of your own needs a hash that agrees with it, the same for equal keys: to_map(key, value, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_map(symbol_of, [](int a, int b) { return a == b; })); }
