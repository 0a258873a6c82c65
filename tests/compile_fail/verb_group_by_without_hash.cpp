// form: from_trades.group_by(symbol_of, [](int a, int b) { return a == b; }).count().to_vector()
// message: query: group_by: an equality of your own needs a hash that agrees with it, the same for equal keys: group_by(key, equal, hash)
// expect: query: group_by: an equality of your own needs a hash that agrees with it, the same for equal keys: group_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of, [](int a, int b) { return a == b; }).count().to_vector()); }
