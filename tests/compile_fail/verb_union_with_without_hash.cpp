// form: from_trades.union_with(from_trades, [](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()
// message: query: union_with: an equality of your own needs a hash that agrees with it, the same for equal keys: union_with(other, equal, hash)
// expect: query: union_with: an equality of your own needs a hash that agrees with it, the same for equal keys: union_with(other, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.union_with(from_trades, [](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()); }
