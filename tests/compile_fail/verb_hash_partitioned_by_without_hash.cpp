// form: from_trades.hash_partitioned_by(symbol_of, [](int a, int b) { return a == b; }).to_vector()
// message: query: hash_partitioned_by: an equality of your own needs a hash that agrees with it, the same for equal keys: hash_partitioned_by(key, n, equal, hash)
// expect: query: hash_partitioned_by: an equality of your own needs a hash that agrees with it, the same for equal keys: hash_partitioned_by(key, n, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.hash_partitioned_by(symbol_of, [](int a, int b) { return a == b; }).to_vector()); }
