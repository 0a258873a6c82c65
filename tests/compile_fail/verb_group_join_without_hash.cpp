// form: from_trades.group_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const std::vector<Stock>&) { return t.symbol; }, [](int a, int b) { return a == b; }).to_vector()
// message: query: group_join: an equality of your own needs a hash that agrees with it, the same for equal keys: group_join(right, left key, right key, result, equal, hash)
// expect: query: group_join: an equality of your own needs a hash that agrees with it, the same for equal keys: group_join(right, left key, right key, result, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const std::vector<Stock>&) { return t.symbol; }, [](int a, int b) { return a == b; }).to_vector()); }
