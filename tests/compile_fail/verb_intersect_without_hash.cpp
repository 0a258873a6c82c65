// form: from_trades.intersect(from_trades, [](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()
// message: query: intersect: an equality of your own needs a hash that agrees with it, the same for equal keys: intersect(other, equal, hash)
// expect: query: intersect: an equality of your own needs a hash that agrees with it, the same for equal keys: intersect(other, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.intersect(from_trades, [](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()); }
