// form: from_trades.to_map().size()
// message: query: to_map: the key is missing: to_map([](auto t) { return t.symbol; })
// expect: query: to_map: the key is missing: to_map([](auto t) { return t.symbol; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_map().size()); }
