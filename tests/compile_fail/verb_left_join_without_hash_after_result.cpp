// form: from_trades.left_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const std::optional<Stock>&) { return t.symbol; }, [](int a, int b) { return a == b; }).to_vector()
// message: query: left_join: an equality of your own needs a hash that agrees with it, the same for equal keys: left_join(right, left key, right key, equal, hash)
// expect: query: left_join: an equality of your own needs a hash that agrees with it, the same for equal keys: left_join(right, left key, right key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.left_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const std::optional<Stock>&) { return t.symbol; }, [](int a, int b) { return a == b; }).to_vector()); }
