// form: from_trades.group_by(symbol_of).select([](auto g) { return g.count_distinct([](auto t) { return t.qty; }, [](int a, int b) { return a == b; }); }).to_vector()
// message: query: count_distinct: an equality of your own needs a hash that agrees with it, the same for equal keys: count_distinct(f, equal, hash)
// expect: query: count_distinct: an equality of your own needs a hash that agrees with it, the same for equal keys: count_distinct(f, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.count_distinct([](auto t) { return t.qty; }, [](int a, int b) { return a == b; }); }).to_vector()); }
