// form: from_trades.count_by(symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: count_by: an equality of your own needs a hash that agrees with it, the same for equal keys: count_by(key, equal, hash)
// expect: query: count_by: an equality of your own needs a hash that agrees with it, the same for equal keys: count_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.count_by(symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
