// form: from_trades.distinct_by(symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: distinct_by: an equality of your own needs a hash that agrees with it, the same for equal keys: distinct_by(key, equal, hash)
// expect: query: distinct_by: an equality of your own needs a hash that agrees with it, the same for equal keys: distinct_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.distinct_by(symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
