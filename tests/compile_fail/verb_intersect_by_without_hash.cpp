// form: from_trades.intersect_by(from_trades, symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: intersect_by: an equality of your own needs a hash that agrees with it, the same for equal keys: intersect_by(other, key, equal, hash)
// expect: query: intersect_by: an equality of your own needs a hash that agrees with it, the same for equal keys: intersect_by(other, key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.intersect_by(from_trades, symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
