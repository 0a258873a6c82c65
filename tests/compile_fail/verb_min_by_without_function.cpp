// form: from_trades.min_by()
// message: query: min_by: the function is missing: min_by([](auto t) { return t.price; })
// expect: query: min_by: the function is missing: min_by([](auto t) { return t.price; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.min_by()); }
