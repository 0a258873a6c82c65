// form: from_trades.distinct([](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()
// message: query: distinct: an equality of your own needs a hash that agrees with it, the same for equal keys: distinct(equal, hash)
// expect: query: distinct: an equality of your own needs a hash that agrees with it, the same for equal keys: distinct(equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.distinct([](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()); }
