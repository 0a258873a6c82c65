// form: from_trades.except(from_trades, [](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()
// message: query: except: an equality of your own needs a hash that agrees with it, the same for equal keys: except(other, equal, hash)
// expect: query: except: an equality of your own needs a hash that agrees with it, the same for equal keys: except(other, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.except(from_trades, [](const Trade& a, const Trade& b) { return a.qty == b.qty; }).to_vector()); }
