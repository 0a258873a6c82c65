// form: from_trades.aggregate_by(symbol_of, 0, [](int s, const Trade& t) { return s + t.qty; }, [](int a, int b) { return a + b; }, [](int a, int b) { return a == b; }).to_vector()
// message: query: aggregate_by: an equality of your own needs a hash that agrees with it, the same for equal keys: aggregate_by(key, seed, update, combine, equal, hash)
// expect: query: aggregate_by: an equality of your own needs a hash that agrees with it, the same for equal keys: aggregate_by(key, seed, update, combine, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate_by(symbol_of, 0, [](int s, const Trade& t) { return s + t.qty; }, [](int a, int b) { return a + b; }, [](int a, int b) { return a == b; }).to_vector()); }
