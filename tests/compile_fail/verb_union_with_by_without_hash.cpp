// form: from_trades.union_with_by(from_trades, symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: union_with_by: an equality of your own needs a hash that agrees with it, the same for equal keys: union_with_by(other, key, equal, hash)
// expect: query: union_with_by: an equality of your own needs a hash that agrees with it, the same for equal keys: union_with_by(other, key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.union_with_by(from_trades, symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
