// form: from_trades.semi_join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: semi_join: an equality of your own needs a hash that agrees with it, the same for equal keys: semi_join(right, left key, right key, equal, hash)
// expect: query: semi_join: an equality of your own needs a hash that agrees with it, the same for equal keys: semi_join(right, left key, right key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.semi_join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
