// form: from_trades.join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: join: an equality of your own needs a hash that agrees with it, the same for equal keys: join(right, left key, right key, equal, hash)
// expect: query: join: an equality of your own needs a hash that agrees with it, the same for equal keys: join(right, left key, right key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
