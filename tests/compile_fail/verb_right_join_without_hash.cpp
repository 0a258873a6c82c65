// form: from_trades.right_join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: right_join: an equality of your own needs a hash that agrees with it, the same for equal keys: right_join(right, left key, right key, equal, hash)
// expect: query: right_join: an equality of your own needs a hash that agrees with it, the same for equal keys: right_join(right, left key, right key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.right_join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
