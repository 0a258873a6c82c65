// form: from_trades.full_join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: full_join: an equality of your own needs a hash that agrees with it, the same for equal keys: full_join(right, left key, right key, equal, hash)
// expect: query: full_join: an equality of your own needs a hash that agrees with it, the same for equal keys: full_join(right, left key, right key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.full_join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
