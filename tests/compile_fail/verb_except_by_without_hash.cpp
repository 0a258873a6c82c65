// form: from_trades.except_by(from_trades, symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: except_by: an equality of your own needs a hash that agrees with it, the same for equal keys: except_by(other, key, equal, hash)
// expect: query: except_by: an equality of your own needs a hash that agrees with it, the same for equal keys: except_by(other, key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.except_by(from_trades, symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
